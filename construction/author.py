"""One fact through the model: its questions, their scripts, the cut prompts, and what the checks say of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from construction.checks import Material, judge
from construction.checks.script_format import complaint
from construction.llm.client import Client, Reply, together
from construction.questions import QuestionAsk, QuestionStep
from construction.scripts import Draft, ScriptAsk, ScriptStep, script_of
from construction.truncate import cut_script
from construction.verdicts import Standing, standing
from construction.worded import WordedStep
from schemas.facts import Fact
from schemas.lineage import Lineage
from schemas.records import Record
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.verdicts import Verdict


@dataclass(frozen=True)
class ScriptMade:
    """A script, its prompt where it could be cut, and the verdicts on both."""

    script: Script
    prompt: ScriptPrompt | None
    verdicts: tuple[Verdict, ...]

    @property
    def standing(self) -> Standing:
        """``keep``, ``unsure`` or ``drop``."""
        return standing(self.verdicts)


@dataclass(frozen=True)
class QuestionMade:
    """A question, the verdicts on it, and its scripts (the last one is the one that counts)."""

    question: ScriptQuestion
    verdicts: tuple[Verdict, ...]
    scripts: tuple[ScriptMade, ...] = ()

    @property
    def standing(self) -> Standing:
        """The worst of the question's and its best script's."""
        own = standing(self.verdicts)
        if own == "drop" or not self.scripts:
            return "drop"
        best = max((s.standing for s in self.scripts), key=["drop", "unsure", "keep"].index)
        return min(own, best, key=["drop", "unsure", "keep"].index)


@dataclass(frozen=True)
class Slot:
    """One of the questions that were asked for, with every attempt at it; ``failure`` says why there is none."""

    questions: tuple[QuestionMade, ...] = ()
    failure: str = ""


@dataclass(frozen=True)
class Made:
    """All that came of one fact.

    Attributes:
        slots: One for each question asked for.
        verdicts: Verdicts on the fact itself.
        unfinished: Why the endpoint left a call unanswered; then nothing here is stored, and a later run finishes it.
    """

    fact: Fact
    slots: tuple[Slot, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    lineage: tuple[Lineage, ...] = ()
    unfinished: str = ""

    def records(self) -> Iterator[Record]:
        """Everything to store, the fact aside."""
        yield from self.verdicts
        for made in (q for slot in self.slots for q in slot.questions):
            yield made.question
            yield from made.verdicts
            for script in made.scripts:
                yield script.script
                if script.prompt is not None:
                    yield script.prompt
                yield from script.verdicts

    def prompts(self) -> list[ScriptPrompt]:
        """Prompts that no check drops, with their questions."""
        return [
            s.prompt
            for slot in self.slots
            for q in slot.questions
            if standing(q.verdicts) != "drop"
            for s in q.scripts
            if s.prompt is not None and s.standing != "drop"
        ]


class Unanswered(Exception):
    """The endpoint left a call unanswered; the fact is finished by a later run."""


@dataclass
class _Trace:
    """What one fact leaves behind while it is made."""

    lineage: list[Lineage] = field(default_factory=list)


class Author:
    """Writes questions and scripts of facts with a model.

    Args:
        client: Asks the endpoint.
        questions: The step that asks for questions.
        scripts: The step that asks for scripts.
    """

    def __init__(self, client: Client, *, questions: QuestionStep, scripts: ScriptStep) -> None:
        self._client, self._questions, self._scripts = client, questions, scripts

    async def make(self, fact: Fact, *, count: int, edited: bool) -> Made:
        """All of one fact.

        Args:
            fact: The fact.
            count: Questions to ask for.
            edited: Whether the question writer sees the new object.
        """
        trace = _Trace()
        calls = self._questions.calls(fact, count=count, edited=edited)
        try:
            slots = _unique([s for call in await together([self._slots(c, trace) for c in calls]) for s in call], count)
            slots = await together([self._scripted(fact, slot, trace) for slot in slots])
        except Unanswered as error:
            return Made(fact, unfinished=str(error))
        failure = next((s.failure for s in slots if s.failure), "")
        none = not any(s.questions for s in slots)
        verdicts = judge("reply", Material(fact=fact, failure=failure if none else ""))
        return Made(fact, tuple(slots), tuple(verdicts), tuple(trace.lineage))

    async def _slots(self, call: QuestionAsk, trace: _Trace) -> list[Slot]:
        """The slots of one call; a prompt with one question a call tries again until one passes."""
        made: list[QuestionMade] = []
        failure = "the reply holds fewer questions than asked for"
        for attempt in range(self._questions.wording.attempts):
            reply = await self._ask(self._questions, call, call.fact.key, str(call.index), attempt=attempt)
            if reply.value is None:
                failure = f"{reply.status}: {reply.message}"
                continue
            for question in self._questions.parse(call, reply.value):
                verdicts = judge("question", Material(fact=call.fact, question=question))
                made.append(QuestionMade(question, tuple(verdicts)))
                trace.lineage.append(
                    self._line(question, "questions", self._questions, reply, sample=attempt, parents=(call.fact.id,))
                )
            if made and standing(made[-1].verdicts) == "keep":
                break
        if self._questions.wording.shape == "one":
            return [Slot(tuple(made), "" if made else failure)]
        return [Slot((q,)) for q in made] + [Slot(failure=failure)] * (call.count - len(made))

    async def _scripted(self, fact: Fact, slot: Slot, trace: _Trace) -> Slot:
        """The slot with scripts for its last question, unless that one is dropped."""
        if not slot.questions or standing(slot.questions[-1].verdicts) == "drop":
            return slot
        *earlier, last = slot.questions
        return Slot((*earlier, await self._script(fact, last, trace)))

    async def _script(self, fact: Fact, made: QuestionMade, trace: _Trace) -> QuestionMade:
        question, scripts = made.question, list[ScriptMade]()
        call = ScriptAsk(question=question, old=fact.old)
        trouble: list[Verdict] = []
        for attempt in range(self._scripts.wording.attempts):
            reply = await self._ask(self._scripts, call, question.key, attempt=attempt)
            if reply.value is None:
                failure = f"{reply.status}: {reply.message}"
                trouble = trouble or judge("reply", Material(fact=fact, question=question, failure=failure))
                continue
            draft = self._scripts.parse(call, reply.value)[0]
            if complaint(draft) is not None:
                trouble = judge("draft", Material(fact=fact, question=question, draft=draft))
                continue
            scripts.append(_judged(fact, question, draft))
            trace.lineage += self._script_lines(scripts[-1], question, reply, attempt)
            if scripts[-1].standing == "keep":
                break
        extra = () if scripts else tuple(trouble)
        return QuestionMade(question, (*made.verdicts, *extra), tuple({s.script.id: s for s in scripts}.values()))

    async def _ask(self, step: WordedStep[Any, Any], item: Any, *names: str, attempt: int) -> Reply:
        reply = await self._client.ask(step.sample(item, *names, attempt=attempt))
        if reply.status == "unanswered":
            raise Unanswered(reply.message)
        return reply

    def _line(
        self,
        item: Record,
        stage: str,
        step: WordedStep[Any, Any],
        reply: Reply,
        *,
        sample: int,
        parents: tuple[str, ...],
    ) -> Lineage:
        quality = step.wording.quality
        return Lineage(
            item_id=item.id,
            stage=stage,
            parents=parents,
            made_at=reply.at,
            model=self._client.endpoint.model,
            endpoint=self._client.address,
            prompt=step.label,
            request=reply.request,
            tokens_in=reply.tokens_in,
            tokens_out=reply.tokens_out,
            detail={"sample": sample, **({"quality": quality} if quality else {})},
        )

    def _script_lines(self, made: ScriptMade, question: ScriptQuestion, reply: Reply, sample: int) -> list[Lineage]:
        line = self._line(made.script, "scripts", self._scripts, reply, sample=sample, parents=(question.id,))
        if made.prompt is None:
            return [line]
        quality = {k: v for k, v in line.detail.items() if k == "quality"}
        cut = Lineage(
            item_id=made.prompt.id, stage="truncate", parents=(made.script.id,), made_at=reply.at, detail=quality
        )
        return [line, cut]


def _judged(fact: Fact, question: ScriptQuestion, draft: Draft) -> ScriptMade:
    """A draft in the format as a script, cut and checked."""
    script = script_of(question, draft)
    prompt = cut_script(fact, question, script)
    material = Material(fact=fact, question=question, draft=draft, script=script, prompt=prompt)
    verdicts = [*judge("draft", material), *judge("script", material)]
    if prompt is not None:
        verdicts += judge("prompt", material)
    return ScriptMade(script, prompt, tuple(verdicts))


def _unique(slots: Sequence[Slot], count: int) -> list[Slot]:
    """Slots in which a question that an earlier slot holds already does not stand again."""
    seen: set[str] = set()
    kept: list[Slot] = []
    for slot in slots[:count]:
        new = {q.question.key: q for q in slot.questions if q.question.key not in seen}
        seen |= new.keys()
        lost = slot.questions and not new
        kept.append(Slot(tuple(new.values()), "duplicate: the same question again" if lost else slot.failure))
    return kept
