"""How well a leakage check finds leaks: precision and recall on the labelled prompts that we ship.

Half of the prompts (``dev``) sets the threshold of a check that measures, the other half (``test``) is scored once with
it. No subject and no pair of relation and old object stands in both halves. Every fact has one prompt with a leak and
one without, so a check that only knows the fact finds nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import model_validator

from curation.checks.store_checks import StoreCheck, run_check
from curation.files.json_files import json_lines
from curation.shipped import SHIPPED
from curation.stats.estimates import Estimate
from curation.stats.intervals import binomial_interval
from curation.store.store import Store
from schemas.core.config import validate
from schemas.core.errors import UserError
from schemas.core.records import Frozen, Key, Text
from schemas.facts import Entity, Fact, Object, Relation, Source
from schemas.scripts import ScriptPrompt, ScriptQuestion
from schemas.text.counting import counted
from schemas.verdicts import Span, Verdict

Half = Literal["dev", "test"]
Grade = Literal["strong", "medium", "weak"]
_SOURCE = Source(name="ScEdit Toolkit leaks", licence="CC0-1.0")


class LeakPrompt(Frozen):
    """A script prompt of which we say whether it leaks knowledge related to the old object.

    Attributes:
        half: ``dev`` for setting thresholds, ``test`` for scoring.
        label: ``leak`` or ``none``.
        grade: How plainly a leak points at the old object; None where there is none.
        steps: The steps up to the cut; the last one holds the old object.
        words: The leaking words, as a span of ``prompt``; None where there is no leak.
        why: What ties the words to the old object, or what could be taken for a leak.
    """

    key: Key
    half: Half
    label: Literal["leak", "none"]
    grade: Grade | None = None
    relation: Relation
    subject: Entity
    fact_prompt: Text
    old: Object
    new: Object
    question: Text
    steps: tuple[Text, ...]
    prompt: Text
    separator: str
    words: Span | None = None
    why: Text

    @model_validator(mode="after")
    def _validate_whole(self) -> LeakPrompt:
        leak = self.label == "leak"
        if (self.words is not None) != leak or (self.grade is not None) != leak:
            raise ValueError("a leak has leaking words and a grade, a prompt without a leak has neither")
        if self.words and self.prompt[self.words.start : self.words.end] != self.words.text:
            raise ValueError(f"the leaking words {self.words.text!r} do not stand at {self.words.start} of the prompt")
        return self

    @property
    def fact(self) -> Fact:
        """The fact that the prompt asks about; both prompts of a fact give the same one."""
        return Fact(
            key=self.key.rpartition("/")[0],
            subject=self.subject,
            relation=self.relation,
            prompt=self.fact_prompt,
            old=self.old,
            new=self.new,
            source=_SOURCE,
        )

    @property
    def script_question(self) -> ScriptQuestion:
        """The question as a record."""
        return ScriptQuestion(key=f"{self.key}/q", fact=self.fact.key, text=self.question)

    @property
    def script_prompt(self) -> ScriptPrompt:
        """The cut prompt as a record."""
        return ScriptPrompt(
            key=f"{self.key}/p",
            fact=self.fact.key,
            question=f"{self.key}/q",
            text=self.prompt,
            offset=len(self.prompt) + len(self.separator),
            step=len(self.steps),
            separator=self.separator,
            targets=(self.old.text, self.new.text),
        )


def leak_prompts(half: Half | None = None) -> tuple[LeakPrompt, ...]:
    """The labelled prompts that we ship, of one half or of both."""
    rows = [validate(LeakPrompt, data, where=where) for _, where, data in json_lines(SHIPPED / "leaks.jsonl")]
    return tuple(r for r in rows if half in (None, r.half))


class HalfScore(NamedTuple):
    """What a check found in one half.

    Attributes:
        hits: Leaks that it flagged.
        false_alarms: Prompts without a leak that it flagged.
        leaks: Leaks in the half.
        clean: Prompts without one.
        unscored: Prompts that it could not judge; they count as not flagged.
        precision: Share of leaks among the flagged, with an exact interval; undefined where nothing is flagged.
        recall: Share of the leaks that is flagged, with an exact interval.
        by_grade: (flagged, all) of the leaks of each grade.
        auc: Chance that a leak has a higher value than a prompt without one, ties half; None without values.
    """

    hits: int
    false_alarms: int
    leaks: int
    clean: int
    unscored: int
    precision: Estimate
    recall: Estimate
    by_grade: dict[str, tuple[int, int]]
    auc: float | None


class LeakScore(NamedTuple):
    """The score of one check: the threshold in use, and what it finds with it in both halves."""

    name: str
    threshold: float
    dev: HalfScore
    test: HalfScore


def study(
    name: str,
    values: Mapping[str, float | None],
    *,
    threshold: float | None = None,
    prompts: Sequence[LeakPrompt] | None = None,
) -> LeakScore:
    """Precision and recall of a check.

    Args:
        name: What to call it.
        values: What it measured, by key of the labelled prompt; higher means more of a leak, None means unscored. A
            check that only says yes or no gives 1.0 and 0.0.
        threshold: Values from here on are flagged; left out, it is set on the dev half (0.5 for a check that only says
            yes or no, where there is nothing to set).
        prompts: The labelled prompts; those that we ship where left out.

    Raises:
        UserError: a labelled prompt is not in ``values``.

    Example:
        >>> values = {p.key: float(p.label == "leak") for p in leak_prompts()}
        >>> study("oracle", values).test.recall.value
        1.0
    """
    prompts = leak_prompts() if prompts is None else prompts
    missing = [p.key for p in prompts if p.key not in values]
    if missing:
        raise UserError(
            f"'{name}' says nothing of {counted(len(missing), 'labelled prompt')}, the first being '{missing[0]}'"
        )
    dev = [p for p in prompts if p.half == "dev"]
    if threshold is None and {v for v in values.values() if v is not None} == {0.0, 1.0}:
        threshold = 0.5
    if threshold is None:
        threshold = best_threshold([(values[p.key], p.label == "leak") for p in dev])
    halves = [score_half([p for p in prompts if p.half == half], values, threshold) for half in ("dev", "test")]
    return LeakScore(name, threshold, *halves)


def scores_of_check(
    check: StoreCheck, folder: Path, *, prompts: Sequence[LeakPrompt] | None = None
) -> dict[str, float | None]:
    """What a store check says of the labelled prompts, ready for ``study``.

    The prompts go into a store in the folder, so the check meets them as it meets any others, and a second call in the
    same folder judges only what is still due.

    Args:
        check: A check on prompts. What it measured counts where there is a value; else ``drop`` with quoted words is
            1.0, any other ``drop``, ``keep`` and ``unsure`` are 0.0, and ``unscored`` or no verdict is None.
        folder: For the store.
        prompts: The labelled prompts; those that we ship where left out.
    """
    prompts = leak_prompts() if prompts is None else prompts
    records = {r.key: r for p in prompts for r in (p.fact, p.script_question, p.script_prompt)}
    folder.mkdir(parents=True, exist_ok=True)
    with Store.open(folder / "leaks.duckdb", create=True) as store:
        store.put(records.values())
        run_check(store, check)
        verdicts = [v for v in store.verdicts() if v.by == check.by and v.model == check.model]
    values = {v.item_id: _flag(v) if v.value is None else v.value for v in verdicts}
    return {p.key: values.get(p.script_prompt.id) for p in prompts}


def _flag(verdict: Verdict) -> float | None:
    return None if verdict.label == "unscored" else float(verdict.label == "drop" and bool(verdict.spans))


def best_threshold(rows: Iterable[tuple[float | None, bool]]) -> float:
    """The threshold with the most correct decisions; of equals the highest, which raises the fewest false alarms.

    It lies halfway between two values; infinity where flagging nothing is as good as anything. Both halves hold as
    many leaks as clean prompts, so this is also the threshold of the best balanced accuracy (Youden's J).

    Args:
        rows: Value (None: never flagged) and whether it is a leak.

    Example:
        >>> best_threshold([(3.0, True), (2.0, True), (1.0, False), (None, True)])
        1.5
    """
    scored = sorted(((v, leak) for v, leak in rows if v is not None), reverse=True)
    best, gain, threshold = 0, 0, float("inf")
    for n, (value, leak) in enumerate(scored):
        gain += 1 if leak else -1
        below = scored[n + 1][0] if n + 1 < len(scored) else None
        if below != value and gain > best:
            best, threshold = gain, value if below is None else (value + below) / 2
    return threshold


def score_half(prompts: Sequence[LeakPrompt], values: Mapping[str, float | None], threshold: float) -> HalfScore:
    """Counts, precision and recall over some labelled prompts, with values from ``threshold`` on flagged."""
    scored = {p.key: value for p in prompts if (value := values[p.key]) is not None}
    flagged = {key for key, value in scored.items() if value >= threshold}
    leaks = [p for p in prompts if p.label == "leak"]
    hits = sum(p.key in flagged for p in leaks)
    grades: dict[str, tuple[int, int]] = {}
    for p in leaks:
        flagged_prompts, of = grades.get(str(p.grade), (0, 0))
        grades[str(p.grade)] = (flagged_prompts + (p.key in flagged), of + 1)
    dirty = [scored[p.key] for p in leaks if p.key in scored]
    clean = [scored[p.key] for p in prompts if p.label == "none" and p.key in scored]
    return HalfScore(
        hits=hits,
        false_alarms=len(flagged) - hits,
        leaks=len(leaks),
        clean=len(prompts) - len(leaks),
        unscored=len(prompts) - len(scored),
        precision=binomial_interval(hits, len(flagged)),
        recall=binomial_interval(hits, len(leaks)),
        by_grade=grades,
        auc=_auc(dirty, clean),
    )


def _auc(high: Sequence[float], low: Sequence[float]) -> float | None:
    """Share of pairs in which the first value is the higher one, ties half."""
    if not high or not low:
        return None
    return sum((a > b) + 0.5 * (a == b) for a in high for b in low) / (len(high) * len(low))
