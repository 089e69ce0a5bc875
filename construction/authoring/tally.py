"""The funnel from facts to prompts: what was kept, and why the rest was not, so that every fact is accounted for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, TypeVar

from construction.authoring.outcome import REPEATED, FactOutcome, QuestionOutcome, Slot
from construction.checks import CHECKS
from schemas.core.records import Frozen, Record
from schemas.text.counting import counted
from schemas.verdicts import Verdict

C = TypeVar("C", bound=Frozen)


class CountedLoss(Frozen):
    """How often something was lost at a stage, for one reason."""

    stage: str
    reason: str
    count: int


class Tally:
    """Counts what becomes of items, and what is lost at which stage.

    Attributes:
        stages: The stages of the funnel, in its order.
        n: Counts by name.
    """

    stages: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        self.n: Counter[str] = Counter()
        self._losses: Counter[tuple[str, str]] = Counter()

    def lose(self, stage: str, reason: str, count: int = 1) -> None:
        """Something was lost, so often.

        Raises:
            ValueError: the funnel has no such stage.
        """
        order = self.stages.index(stage)
        if count:
            self._losses[self.stages[order], reason] += count

    def lose_by(self, stage: str, verdicts: Iterable[Verdict]) -> None:
        """Note each verdict against an item, by who gave it."""
        for verdict in verdicts:
            if verdict.label not in ("keep", None):
                who = verdict.check if verdict.judged_by is None else f"people ({verdict.check})"
                self.lose(stage, f"{verdict.label} by {who}")

    def count(self, record: Record, verdicts: Sequence[Verdict]) -> None:
        """Count what was written about an item, with what is said of it."""

    def losses(self) -> tuple[CountedLoss, ...]:
        """What was lost, by stage, the commonest first."""
        order = sorted(self._losses.items(), key=lambda item: (self.stages.index(item[0][0]), -item[1], item[0][1]))
        return tuple(CountedLoss(stage=stage, reason=reason, count=count) for (stage, reason), count in order)

    def result(self, kind: type[C], *, calls: int, quality: str | None, **more: Any) -> C:
        """The counts so far, as a funnel of this kind; what is not counted here is given."""
        names = [n for n, field in kind.model_fields.items() if field.annotation is int and n != "calls"]
        counts = {name: self.n[name] for name in names}
        more = more or {"losses": self.losses()}
        return kind.model_validate({**counts, "calls": calls, "quality": quality, **more})


def closing_lines(losses: Iterable[CountedLoss], calls: int, *, stored: bool) -> list[str]:
    """The lines below a funnel: what was lost, and the calls.

    Args:
        losses: What was lost.
        calls: Calls made, or on record.
        stored: The funnel was counted from a store.
    """
    lines = [f"  {loss.count:6,d}  {loss.stage:11s} {loss.reason}" for loss in losses]
    title = ["", "Lost, by reason:"] if lines else []
    return [*title, *lines, "", f"{counted(calls, 'call')} {'on record' if stored else 'made'}."]


def percent_of(part: int, whole: int) -> str:
    """A share in percent; nothing where there is no whole.

    Example:
        >>> percent_of(1, 3), percent_of(0, 0)
        ('33.3 %', '')
    """
    return f"{100 * part / whole:.1f} %" if whole else ""


PAPER_EARLY = 6.75  # % of ScEdit's data cut in step 1 (Appendix B.2.1)
PAPER_FILTERED = 8.23  # % of GPT-4's data filtered out (Appendix B.2.2)
_PLACES = {"keep": "kept", "unsure": "unsure", "drop": "rejected"}


class Reason(Frozen):
    """How many of the questions asked for ended at one check, and one example.

    The label is ``unscored`` where no usable reply came, which a further attempt may mend.
    """

    stage: str
    check: str
    label: str
    count: int
    reason: str
    example: str


class AuthorCounts(Frozen):
    """What became of the scripts that one author was asked for: ``kept + unsure + rejected = asked``.

    Attributes:
        asked: Scripts asked for; every attempt at one counts as the same.
        scripts: Different texts in the format, rejected ones included.
    """

    author: str
    asked: int
    kept: int
    unsure: int
    rejected: int
    scripts: int


class ConstructionCounts(Frozen):
    """Counts of one construction, edited facts and facts that only serve as neighbours together.

    Attributes:
        facts: Facts worked on; ``edits`` of them are to be edited, ``unfinished`` wait for another run.
        facts_kept: Facts with at least one kept prompt.
        asked: Questions asked for; ``kept + unsure + rejected + surplus = asked``.
        questions, scripts, prompts: Records made, rejected attempts included.
        kept: Questions that came to a prompt which every check keeps.
        unsure: Questions whose prompt is for people to decide.
        rejected: Questions that came to nothing, by reason in ``reasons``.
        surplus: Questions that were not needed, as enough others were chosen; left out by the model, some of them.
        early: Prompts cut in step 1.
        links: Neighbour links; ``links_kept`` of them have a prompt that is fit for the edit.
        calls: Calls made over the network in this run.
        authors: Scripts by author.
        held: What is said against edited facts themselves, whatever became of their questions (undated).
    """

    facts: int
    edits: int
    unfinished: int
    facts_kept: int
    asked: int
    questions: int
    scripts: int
    prompts: int
    kept: int
    unsure: int
    rejected: int
    early: int
    links: int
    links_kept: int
    calls: int
    quality: str | None
    reasons: tuple[Reason, ...]
    surplus: int = 0
    authors: tuple[AuthorCounts, ...] = ()
    held: tuple[Reason, ...] = ()

    @property
    def early_percent(self) -> float:
        """Prompts cut in step 1 in percent of all prompts; 6.75 % in the paper."""
        return _percent(self.early, self.prompts)


NO_SCRIPT = ("no script", "nothing that the model wrote for it is a script")
"""In the place of a check and its reason, of a question against which nothing else speaks."""


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0


class ConstructionTally(Tally):
    """Counts while facts are made."""

    def __init__(self) -> None:
        super().__init__()
        self._reasons: Counter[tuple[str, str, str]] = Counter()
        self._examples: dict[tuple[str, str, str], tuple[str, str]] = {}
        self._authors: dict[str, Counter[str]] = {}
        self._held: dict[tuple[str, str], Reason] = {}

    def add(self, outcome: FactOutcome, *, edited: bool) -> None:
        """Count one fact."""
        self.n["facts"] += 1
        self.n["edits"] += edited
        if outcome.unfinished:
            self.n["unfinished"] += 1
            return
        if edited:
            self._count_fact(outcome)
        outcomes = [self._slot(outcome, slot) for slot in outcome.slots]
        self.n["facts_kept"] += "keep" in outcomes
        for q in outcome.questions():
            self.n["questions"] += 1
            self._by_author(q)
            self.n["scripts"] += len(q.scripts)
            prompts = [s.prompt for s in q.scripts if s.prompt is not None]
            self.n["prompts"] += len(prompts)
            self.n["early"] += sum(p.step == 1 for p in prompts)

    def _count_fact(self, result: FactOutcome) -> None:
        """Count what is said against the fact itself; a reply that cannot be used is counted with its questions."""
        for v in result.verdicts:
            if v.label in ("drop", "unsure", "unscored") and CHECKS.get(v.check).on == "fact":
                known = self._held.get((v.check, v.label))
                first = known or Reason(
                    stage="fact", check=v.check, label=v.label, count=0, reason=v.reason, example=result.fact.key
                )
                self._held[v.check, v.label] = first.model_copy(update={"count": first.count + 1})

    def _by_author(self, question: QuestionOutcome) -> None:
        for written in question.written:
            counts = self._authors.setdefault(written.author, Counter())
            counts["asked"] += 1
            counts[_PLACES[written.standing]] += 1
            counts["scripts"] += len(written.scripts)

    def _slot(self, result: FactOutcome, slot: Slot) -> str:
        """Count one question that was asked for; returns what became of it."""
        self.n["asked"] += 1
        if slot.surplus:
            self.n["surplus"] += 1
            return "surplus"
        outcome = slot.standing
        self.n[_PLACES[outcome]] += 1
        if outcome != "keep":
            self._note(result, slot, outcome)
        return outcome

    def _note(self, result: FactOutcome, slot: Slot, outcome: str) -> None:
        if not slot.questions:
            name, colon, reason = slot.failure.partition(": ")
            check, label = name, "unscored"
            if not colon:  # the model left it out
                check, label, reason = "no question", outcome, slot.failure
            elif name == REPEATED:
                check, label = "repeated question", outcome
            self._count("question", check, label, reason, result.fact.key)
            return
        made_question = next((q for q in slot.questions if q.standing == outcome), slot.questions[-1])
        verdict, stage, text = _cause(made_question, outcome)
        label = "unscored" if verdict is not None and verdict.label == "unscored" else outcome
        check, reason = (verdict.check, verdict.reason) if verdict else NO_SCRIPT
        self._count(stage, check, label, reason, text)

    def _count(self, stage: str, check: str, label: str, reason: str, example: str) -> None:
        key = (stage, check, label)
        self._reasons[key] += 1
        self._examples.setdefault(key, (reason, example))

    def link(self, *, passes: bool) -> None:
        """Count one neighbour link."""
        self.n["links"] += 1
        self.n["links_kept"] += passes

    def counts(self, *, calls: int, quality: str | None) -> ConstructionCounts:
        """The counts so far."""
        reasons = tuple(
            Reason(
                stage=k[0], check=k[1], label=k[2], count=n, reason=self._examples[k][0], example=self._examples[k][1]
            )
            for k, n in sorted(self._reasons.items(), key=lambda item: (-item[1], item[0]))
        )
        authors = tuple(
            AuthorCounts(author=name, **{k: n[k] for k in ("asked", "kept", "unsure", "rejected", "scripts")})
            for name, n in sorted(self._authors.items())
        )
        held = tuple(self._held[k] for k in sorted(self._held))
        parts = {"reasons": reasons, "authors": authors, "held": held}
        return self.result(ConstructionCounts, calls=calls, quality=quality, **parts)


def _cause(question: QuestionOutcome, outcome: str) -> tuple[Verdict | None, str, str]:
    """The verdict that decided on a question, its stage, and the text it is about."""
    wanted = {"drop"} if outcome == "drop" else {"unsure", "unscored"}
    for verdict in question.verdicts:
        if verdict.label in wanted or (outcome == "drop" and verdict.label == "unscored"):
            return verdict, "question", question.question.text
    for script in reversed(question.scripts):
        for verdict in script.verdicts:
            if verdict.label in wanted and script.standing == outcome:
                text = script.prompt.text if script.prompt is not None else " / ".join(script.script.steps)
                stage = "prompt" if script.prompt is not None and verdict.item_id == script.prompt.id else "script"
                return verdict, stage, f"{question.question.text} {text.removeprefix(question.question.text).strip()}"
    return None, "question", question.question.text
