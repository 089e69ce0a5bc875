"""EM by tag, beside what a constant answer would score (MULFE Figure 7)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from curation.stats.intervals import Interval
from evaluation.analysis.comparison import Scores
from evaluation.metrics.documents.exact_match import ExactMatch
from evaluation.metrics.pooled import pooled_interval
from evaluation.runs.results import Run
from schemas.cases import DocumentCase
from schemas.documents.document import DocumentProbe, plain_words
from schemas.documents.statement import KEPT
from schemas.documents.tags import TAGS

FEWEST = 15
"""Tags with fewer probes are left out, as in the paper."""

Asked = Sequence[tuple[str, DocumentProbe]]
"""Probes with the key of their case."""


class TagRow(NamedTuple):
    """EM over the probes with a tag.

    Attributes:
        tag: Its name.
        probes: How many probes have it.
        cases: Of so many documents.
        constant: What the tag's most frequent answer elsewhere would score: a null method that reads nothing.
        values: EM of every method by label.
    """

    tag: str
    probes: int
    cases: int
    constant: Interval
    values: dict[str, Interval]


def by_tag(run: Run, scores: Scores, *, fewest: int = FEWEST) -> tuple[TagRow, ...]:
    """EM of every tag with enough probes, most frequent first; pooled over probes, intervals by document."""
    if not run.editors or ExactMatch.name not in scores.by_editor[run.editors[0].label]:
        return ()
    tagged: dict[str, list[tuple[str, DocumentProbe]]] = defaultdict(list)
    for key, probe in asked_probes(run):
        for tag in probe.tags:
            tagged[tag].append((key, probe))
    order = [tag for tag in sorted(TAGS, key=lambda t: (-len(tagged[t]), t)) if len(tagged[tag]) >= fewest]
    return tuple(_row(tag, tagged[tag], run, scores) for tag in order)


def asked_probes(run: Run) -> list[tuple[str, DocumentProbe]]:
    """The probes of a run's cases that EM scores, with the keys of these: of one blank at the most, and not kept."""
    wanted = set(run.cases)
    cases = [case for case in run.split.all_cases if isinstance(case, DocumentCase) and case.key in wanted]
    return [(c.key, probe) for c in cases for probe in c.probes if probe.blanks < 2 and probe.group not in KEPT]


def _row(tag: str, asked: Asked, run: Run, scores: Scores) -> TagRow:
    mine = {probe.key for _, probe in asked}
    values = {}
    for editor in run.editors:
        by_case = scores.by_editor[editor.label][ExactMatch.name]
        scored = [
            (key, item.value)
            for key, one in by_case.items()
            for item in one.items
            if item.item in mine and item.value is not None
        ]
        values[editor.label] = pooled_share(scored)
    return TagRow(tag, len(asked), len({key for key, _ in asked}), constant_answer(asked), values)


def constant_answer(asked: Asked) -> Interval:
    """What one answer to all probes would score: for each document the most frequent answer of the others."""
    return pooled_share(constant_hits(asked))


def constant_hits(asked: Asked) -> list[tuple[str, float]]:
    """Whether the constant answers each probe, with the key of its case.

    Case and punctuation are folded; accepted answers count. A document's own answers have no say in its constant, else
    a tag with one probe would score 100 %. Of equally frequent answers the first in the alphabet is taken.
    """
    everywhere = Counter(plain_words(probe.answer) for _, probe in asked)
    answers_of_case: dict[str, Counter[str]] = defaultdict(Counter)
    for key, probe in asked:
        answers_of_case[key][plain_words(probe.answer)] += 1
    hits = []
    for key, probe in asked:
        elsewhere = everywhere - answers_of_case[key]
        constant = min(elsewhere, key=lambda answer: (-elsewhere[answer], answer), default=None)
        hits.append((key, float(constant is not None and constant in {plain_words(a) for a in probe.answers})))
    return hits


def constant_by_group(asked: Asked) -> Interval:
    """The same over all probes: a constant for each tag (the first of a probe), or for each level where it has none."""
    groups: dict[str, list[tuple[str, DocumentProbe]]] = defaultdict(list)
    for key, probe in asked:
        groups[probe.tags[0] if probe.tags else f"level {probe.level}"].append((key, probe))
    return pooled_share(hit for group in groups.values() for hit in constant_hits(group))


def pooled_share(scored: Iterable[tuple[str, float]]) -> Interval:
    """Share over probes, its interval from drawing whole documents."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for key, value in scored:
        sums[key][0] += value
        sums[key][1] += 1
    return pooled_interval([(right, count) for right, count in sums.values()])
