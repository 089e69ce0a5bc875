"""One fact through the models: its questions, their scripts, the cut prompts, and what the checks say of each."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from construction.authoring.diversity import chosen_verdict, selection_order, surplus_verdict
from construction.authoring.outcome import FactOutcome, QuestionOutcome, ScriptOutcome, Slot, overall_label
from construction.checks import CheckInputs, judge
from construction.checks.prompts import complaint
from construction.llm.client import Client, Reply, gather_all, lineage_of_call
from construction.llm.prompt_file import PromptStep
from construction.prompts.prompt_file import WriterPrompt
from construction.scripts.question_step import QuestionAsk, QuestionStep, relation_words
from construction.scripts.script_step import Draft, RejectedScript, ScriptAsk, ScriptStep, script_of
from construction.scripts.truncation import cut_script
from construction.verifier.steps import (
    UnansweredCall,
    Verifier,
    read_verdict,
)
from schemas.core.records import Record
from schemas.facts import Fact
from schemas.lineage import Lineage
from schemas.scripts import ScriptQuestion
from schemas.text.escaping import escape_line
from schemas.verdicts import Verdict

FAILED = "failed"  # stage of a call that brought nothing; it is cached for its tokens and for its reason
T = TypeVar("T")


class ScriptWriter(NamedTuple):
    """A model that writes scripts: who is asked, and how."""

    client: Client
    step: ScriptStep


class _Call(NamedTuple):
    """A call for questions or scripts, and what came of it; ``sample`` is the number of the attempt."""

    client: Client
    step: PromptStep[Any, Any, WriterPrompt]
    sample: int
    reply: Reply

    @property
    def failure(self) -> str:
        """Why there is no usable reply."""
        return f"{self.reply.status}: {self.reply.message}"


class QuestionQuota(NamedTuple):
    """How much is asked for.

    Attributes:
        questions: Questions to keep for a fact.
        candidates: Questions to ask for; more than are kept are chosen from.
        scripts: Scripts of each author for each question; 0 for questions alone.
    """

    questions: int
    candidates: int
    scripts: int = 1


class Author:
    """Writes questions and scripts of facts with one model or several.

    Args:
        client: Asks the endpoint for questions.
        questions: The step that asks for questions.
        writers: Who writes the scripts; every one writes for every question.
        reader: Reads what the checks let pass, where asked for.
        unread: Whether prompts that nobody read are ``unsure``.
        dropped: What was dropped in the store since an earlier run, by content id, with the verdict that says why.
    """

    def __init__(
        self,
        client: Client,
        *,
        questions: QuestionStep,
        writers: Sequence[ScriptWriter],
        reader: Verifier | None = None,
        unread: bool = False,
        dropped: Mapping[str, Verdict] | None = None,
    ) -> None:
        self._dropped, self._unread = dropped or {}, unread
        self._client, self._questions, self._writers, self._reader = client, questions, tuple(writers), reader

    async def make(
        self, fact: Fact, quota: QuestionQuota, *, edited: bool, facts: tuple[Fact, ...] = ()
    ) -> FactOutcome:
        """All of one fact.

        Args:
            fact: The fact.
            quota: How much to ask for.
            edited: Whether the question writer sees the new object.
            facts: Other facts of its subject and relation.
        """
        trace: list[Lineage] = []
        asks = self._questions.calls(fact, count=quota.candidates, edited=edited)
        try:
            parts = await _finish_all([self._slots(ask, trace) for ask in asks])
            slots = _drop_repeats([slot for part in parts for slot in part], quota.candidates)
            await self._read_questions(fact, slots, trace)
            for slot in slots:  # after the reading, or the rest would be read anew
                if slot.questions and slot.last.question.id in self._dropped:
                    slot.last.verdicts.append(self._dropped[slot.last.question.id])
                for question in slot.questions:
                    question.alone = not quota.scripts
            if quota.scripts:
                await self._fill(fact, slots, quota, trace)
        except UnansweredCall as error:
            return FactOutcome(fact, unfinished=str(error))
        failure = next((s.failure for s in slots if s.failure), "")
        none = not any(s.questions for s in slots)
        verdicts = judge("fact", CheckInputs(fact=fact, facts=facts))
        verdicts += judge("reply", CheckInputs(fact=fact, failure=failure if none else ""))
        _compare_questions(fact, slots)
        return FactOutcome(fact, tuple(slots), tuple(verdicts), tuple(trace))

    async def _slots(self, ask: QuestionAsk, trace: list[Lineage]) -> list[Slot]:
        """The slots of one call; a prompt with one question a call tries again until one passes."""
        outcomes: list[QuestionOutcome] = []
        failure = "the reply holds fewer questions than asked for"
        step = self._questions
        for attempt in range(step.wording.attempts):
            call = await _ask(self._client, step, ask, ask.fact.key, str(ask.index), sample=attempt)
            if call.reply.value is None:
                failure = call.failure
                trace.append(self._failed_lineage(ask.fact, "questions", call, failure))
                continue
            for question in step.parse(ask, call.reply.value):
                verdicts = judge("question", CheckInputs(fact=ask.fact, question=question))
                outcomes.append(QuestionOutcome(question, verdicts))
                trace.append(self._line(question, "questions", call, ask.fact.id))
            if outcomes and overall_label(outcomes[-1].verdicts) == "keep":
                break
        if step.wording.shape == "one":
            return [Slot(outcomes, failure)]
        slots = [Slot([question]) for question in outcomes]
        return slots + [Slot(failure=failure) for _ in range(ask.count - len(outcomes))]

    async def _read_questions(self, fact: Fact, slots: list[Slot], trace: list[Lineage]) -> None:
        """Add what the verifier says of the questions that stand, before scripts are paid for."""
        if self._reader is None:
            return
        passing = [slot.last for slot in slots if slot.passes]
        said = await self._reader.read(["question"], fact, [one.question for one in passing], trace)
        for one in passing:
            one.verdicts += said[one.question.id]

    async def _fill(self, fact: Fact, slots: list[Slot], quota: QuestionQuota, trace: list[Lineage]) -> None:
        """Add scripts to as many questions as are wanted; one whose scripts all fail is replaced."""
        queue = [slot.last for slot in slots if slot.passes]
        if quota.candidates > quota.questions:
            queue = [queue[n] for n in selection_order(queue)]
        good: list[QuestionOutcome] = []
        tried = 0
        while tried < len(queue) and len(good) < quota.questions:
            turn = queue[tried : tried + quota.questions - len(good)]
            tried += len(turn)
            await self._add_scripts(fact, turn, quota.scripts, trace)
            await self._read(fact, turn, trace)
            good += [question for question in turn if question.standing != "drop"]
        if quota.candidates > quota.questions:
            chosen = [one.question for one in good]
            for one in queue[:tried]:
                one.verdicts.append(chosen_verdict(one.question))
            for one in queue[tried:]:
                one.verdicts.append(surplus_verdict(one.question, chosen))

    async def _add_scripts(
        self, fact: Fact, questions: Sequence[QuestionOutcome], count: int, trace: list[Lineage]
    ) -> None:
        """Add scripts to questions, each text once; to a question without any, why there is none."""
        tasks = [
            self._write_scripts(
                fact,
                [one.question for one in questions[start : start + writer.step.wording.together]],
                writer,
                n,
                trace,
            )
            for writer in self._writers
            for n in range(count)
            for start in range(0, len(questions), writer.step.wording.together)
        ]
        parts = await _finish_all(tasks)
        for one in questions:
            written = [part[one.question.key] for part in parts if one.question.key in part]
            one.scripts = list({script.script.id: script for part in written for script in part.scripts}.values())
            if not one.scripts:
                one.verdicts += next((part.verdicts for part in written if part.verdicts), [])

    async def _write_scripts(
        self, fact: Fact, questions: Sequence[ScriptQuestion], writer: ScriptWriter, number: int, trace: list[Lineage]
    ) -> dict[str, QuestionOutcome]:
        """One script of one author for each question, in as many attempts as its prompt allows.

        What the checks reject is asked for again, with the reason where the prompt tells it.

        Args:
            fact: The fact.
            questions: At most as many as the prompt takes in one request.
            writer: The author.
            number: Which of its scripts, from 0.
            trace: Takes the lineage.

        Returns:
            What was written, by the question's key, with what was wrong with what is no script.
        """
        step = writer.step
        written = {question.key: QuestionOutcome(question) for question in questions}
        pending, rejected = list(questions), list[RejectedScript]()
        for sample in range(number * step.wording.attempts, (number + 1) * step.wording.attempts):
            ask = ScriptAsk(
                questions=tuple(pending),
                old=fact.old,
                relation=relation_words(fact),
                relation_id=fact.relation.id,
                rejected=tuple(rejected),
            )
            call = await _ask(writer.client, step, ask, *(q.key for q in pending), sample=sample)
            if call.reply.value is None:
                for question in pending:
                    inputs = CheckInputs(fact=fact, question=question, failure=call.failure)
                    written[question.key].verdicts = written[question.key].verdicts or judge("reply", inputs)
                    trace.append(self._failed_lineage(question, "scripts", call, call.failure))
                if step.wording.again is not None:
                    break  # a second script is for one that was rejected; the client has asked again already
                continue
            left: dict[str, RejectedScript] = {}
            for question, draft in zip(pending, step.parse(ask, call.reply.value), strict=True):
                again = self._take(fact, draft, written[question.key], call, trace)
                if again is not None:
                    left[question.key] = again
            pending, rejected = [q for q in pending if q.key in left], list(left.values())
            if not pending:
                break
        return written

    def _take(
        self, fact: Fact, draft: Draft | None, written: QuestionOutcome, call: _Call, trace: list[Lineage]
    ) -> RejectedScript | None:
        """Check one draft and note what came of it; what to say of it where another one is to be asked for."""
        question = written.question
        wrong = "the reply has no script for this question" if draft is None else complaint(draft)
        if draft is None or wrong is not None:
            written.verdicts = judge("draft", CheckInputs(fact=fact, question=question, draft=draft or ()))
            trace.append(self._failed_lineage(question, "scripts", call, f"no script in the format: {wrong}"))
            return RejectedScript(draft or (), reason_for_author(question, written.verdicts))
        outcome = _check_draft(fact, question, draft)
        written.scripts.append(outcome)
        trace += self._script_lines(outcome, question, call)
        if outcome.standing == "keep":
            return None
        reason = reason_for_author(question, outcome.verdicts)
        if call.step.wording.again is not None and not reason:
            return None  # nothing that could be told
        return RejectedScript(outcome.script.steps, reason)

    async def _read(self, fact: Fact, questions: Sequence[QuestionOutcome], trace: list[Lineage]) -> None:
        """Add what the verifier, and who read them since, says of the prompts that stand."""
        cut = {s.prompt.id: s.prompt for q in questions for s in q.scripts if s.prompt and s.standing != "drop"}
        said: dict[str, list[Verdict]] = {key: [] for key in cut}
        if self._reader is not None:
            said = await self._reader.read(["prompt", "next"], fact, list(cut.values()), trace)
        for question in questions:
            for script in question.scripts:
                key = script.prompt.id if script.prompt else ""
                if key not in cut:
                    continue
                unscored = any(v.label == "unscored" for v in (*question.verdicts, *said[key]))
                script.verdicts += said[key]
                if self._reader is not None:
                    script.verdicts.append(read_verdict(key, by="" if unscored else self._reader.name))
                elif self._unread:
                    script.verdicts.append(read_verdict(key))
                if key in self._dropped:
                    script.verdicts.append(self._dropped[key])

    def _line(self, item: Record, stage: str, call: _Call, *parents: str) -> Lineage:
        detail = {"sample": call.sample}
        return lineage_of_call(item.id, stage, call.reply, call.client, call.step, parents=parents, detail=detail)

    def _failed_lineage(self, item: Record, of: str, call: _Call, why: str) -> Lineage:
        """The line of a call for an item's questions or scripts that brought nothing."""
        line = self._line(item, FAILED, call)
        return line.model_copy(update={"detail": {**line.detail, "of": of, "why": why[:300]}})

    def _script_lines(self, outcome: ScriptOutcome, question: ScriptQuestion, call: _Call) -> list[Lineage]:
        line = self._line(outcome.script, "scripts", call, question.id)
        if outcome.prompt is None:
            return [line]
        quality = {k: v for k, v in line.detail.items() if k == "quality"}
        parents = (outcome.script.id,)
        cut = Lineage(
            item_id=outcome.prompt.id, stage="truncate", parents=parents, made_at=line.made_at, detail=quality
        )
        return [line, cut]


async def _ask(client: Client, step: PromptStep[Any, Any, WriterPrompt], item: Any, *names: str, sample: int) -> _Call:
    reply = await client.ask(step.sample(item, *names, attempt=sample))
    if reply.status == "unanswered":
        raise UnansweredCall(reply.message)
    return _Call(client, step, sample, reply)


async def _finish_all(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Results in order; where a call stays unanswered the others end first, or their replies would be paid for twice.

    Raises:
        UnansweredCall: the first of them.
    """
    results = await gather_all([_or_unanswered(one) for one in work])
    for result in results:
        if isinstance(result, UnansweredCall):
            raise result
    return [result for result in results if not isinstance(result, UnansweredCall)]


async def _or_unanswered(work: Coroutine[Any, Any, T]) -> T | UnansweredCall:
    try:
        return await work
    except UnansweredCall as error:
        return error


def _check_draft(fact: Fact, question: ScriptQuestion, draft: Draft) -> ScriptOutcome:
    """A draft in the format as a script, cut and checked."""
    script = script_of(question, draft)
    prompt = cut_script(fact, question, script)
    material = CheckInputs(fact=fact, question=question, draft=draft, script=script, prompt=prompt)
    verdicts = [*judge("draft", material), *judge("script", material)]
    if prompt is not None:
        verdicts += judge("prompt", material)
    return ScriptOutcome(script, prompt, verdicts)


def _compare_questions(fact: Fact, slots: Sequence[Slot]) -> None:
    """Add the verdicts that hold a question against the earlier ones that stand."""
    earlier: list[ScriptQuestion] = []
    for slot in slots:
        for one in slot.questions:
            known = {v.key for v in one.verdicts}
            material = CheckInputs(fact=fact, question=one.question, questions=tuple(earlier))
            one.verdicts += [v for v in judge("question", material) if v.key not in known]
        if slot.passes:
            earlier.append(slot.last.question)


def _drop_repeats(slots: Sequence[Slot], count: int) -> list[Slot]:
    """Slots in which a question that an earlier slot holds already does not stand again."""
    seen: set[str] = set()
    for slot in slots[:count]:
        new = {one.question.key: one for one in slot.questions if one.question.key not in seen}
        seen |= new.keys()
        slot.questions = list(new.values())
    return list(slots[:count])


_LONGEST = 80  # characters that are quoted
_FORMAT = "no script in the format: "
_SAID = {
    "no_mention": "no step holds the object word for word",
    "early_cut": "the object stands in step 1 already, and at least two preparing steps have to come first",
}


def reason_for_author(question: ScriptQuestion, verdicts: Iterable[Verdict]) -> str:
    """Why a script cannot be used; empty where another script would not help.

    Args:
        question: The question of the script. What is wrong with words of the question, another script cannot mend.
        verdicts: Verdicts on the script, or on its question where the steps are in no format.

    Example:
        >>> from schemas.verdicts import Verdict
        >>> early = Verdict(key="v", item_id="x", by="early_cut@2", label="unsure", reason="cut in step 1")
        >>> reason_for_author(ScriptQuestion(key="q", fact="f", text="How to go?"), [early])
        'the object stands in step 1 already, and at least two preparing steps have to come first'
    """
    against = [v for v in verdicts if v.label in ("drop", "unsure")]
    reasons = (_reason(question, v) for v in sorted(against, key=lambda v: v.label != "drop"))
    return next((reason for reason in reasons if reason), "")


def _reason(question: ScriptQuestion, verdict: Verdict) -> str:
    if verdict.reason.startswith(_FORMAT):
        return verdict.reason.removeprefix(_FORMAT)
    if verdict.check in _SAID:
        return _SAID[verdict.check]
    in_steps = [span for span in verdict.spans if span.start >= len(question.text)]
    if in_steps:
        words = dict.fromkeys(f"'{escape_line(' '.join(span.text.split()))[:_LONGEST]}'" for span in in_steps)
        return f"up to the object it must not hold {' or '.join(list(words)[:3])}"
    return "" if verdict.spans or verdict.label != "drop" else "it does not keep all the rules"
