"""Worst and best scripts of all methods side by side, with the two objects marked (as ScEdit's Table 7)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from evaluation.analysis.object_mentions import MarkedText, mark_objects, which_objects
from evaluation.analysis.text_ratings import ASPECTS, PEOPLE, PROGRAMS, SHORT, RatedTexts, who
from schemas.cases import Case
from schemas.generated_scripts import GeneratedScript
from schemas.text.raw_text import raw_text

WORST, BEST = 2, 2


class MethodScript(NamedTuple):
    """One method's script: its lines in pieces, what it names, its ratings as (aspect, source, value in words)."""

    label: str
    lines: list[list[MarkedText]]
    names: str
    ratings: tuple[tuple[str, str, str], ...]
    refused: bool


class SideBySide(NamedTuple):
    """One script question under every method; ``why`` says what chose it."""

    case: Case
    question: str
    why: str
    scripts: tuple[MethodScript, ...]


def side_by_side(texts: RatedTexts, cases: Mapping[str, Case]) -> list[SideBySide]:
    """Questions where the edited methods did worst and best; by Coherence where it was rated, else by what is named.

    Only questions that every method answered are taken. Ties are broken by the question's key, so the choice is the
    same every time.
    """
    by_question: dict[tuple[str, str], dict[str, GeneratedScript]] = defaultdict(dict)
    for s in sorted(texts.scripts, key=lambda s: s.sample):
        if s.case in cases:
            by_question[(s.case, s.question)].setdefault(s.editor, s)
    labels = texts.editors
    whole = {k: v for k, v in by_question.items() if len(v) == len(labels) and any(s.edited for s in v.values())}
    coherence = _coherence(texts)
    means = {k: _mean([coherence.get(s.id) for s in v.values() if s.edited]) for k, v in whole.items()}
    rated = {k: value for k, value in means.items() if value is not None}
    reason = "mean Coherence of the edited methods {:.1f}"
    if not rated:
        rated = {k: _share_new(v, cases) for k, v in whole.items()}
        reason = "share of edited methods whose script names the new object only {:.2f}"
    order = sorted(rated, key=lambda k: (rated[k], k))
    picked = {k: f"among the worst: {reason.format(rated[k])}" for k in _one_a_case(order, (), WORST)}
    for k in _one_a_case(order[::-1], picked, BEST):
        picked[k] = f"among the best: {reason.format(rated[k])}"
    return [_make_example(cases[k[0]], k[1], whole[k], why, labels, texts) for k, why in picked.items()]


def _one_a_case(
    order: Sequence[tuple[str, str]], taken: Iterable[tuple[str, str]], limit: int
) -> list[tuple[str, str]]:
    """The first questions in order, one of a case, none of a case that is taken."""
    cases = {case for case, _ in taken}
    out: list[tuple[str, str]] = []
    for case, question in order:
        if case not in cases and len(out) < limit:
            cases.add(case)
            out.append((case, question))
    return out


def _coherence(texts: RatedTexts) -> dict[str, float]:
    values: dict[str, list[int]] = defaultdict(list)
    for r in texts.ratings:
        if r.aspect == "coherence" and r.value is not None and r.rated_by.kind != "adjudicated":
            values[r.item_id].append(r.value)
    return {i: sum(v) / len(v) for i, v in values.items()}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def _share_new(scripts: Mapping[str, GeneratedScript], cases: Mapping[str, Case]) -> float:
    edited = [s for s in scripts.values() if s.edited]
    return sum(which_objects(raw_text(s.text), cases[s.case].fact) == "new only" for s in edited) / len(edited)


def _make_example(
    case: Case,
    question: str,
    scripts: Mapping[str, GeneratedScript],
    why: str,
    labels: Sequence[str],
    texts: RatedTexts,
) -> SideBySide:
    text = next((q.text for q in case.questions if q.key == question), question)
    out = []
    for label in labels:
        s = scripts[label]
        out.append(
            MethodScript(
                label,
                mark_objects(raw_text(s.text), case.fact),
                which_objects(raw_text(s.text), case.fact),
                _ratings(s, texts),
                s.refused,
            )
        )
    return SideBySide(case, text, why, tuple(out))


def _ratings(script: GeneratedScript, texts: RatedTexts) -> tuple[tuple[str, str, str], ...]:
    marks: dict[tuple[str, str], list[str]] = defaultdict(list)
    for r in texts.ratings:
        if r.item_id == script.id and r.rated_by.kind != "adjudicated":
            marks[(r.aspect, who(r.rated_by))].append("unscored" if r.value is None else str(r.value))
    order = sorted(marks, key=lambda k: (ASPECTS.index(k[0]), k[1] not in (PEOPLE, PROGRAMS), k[1]))
    return tuple((SHORT[a], name, ", ".join(sorted(marks[(a, name)]))) for a, name in order)
