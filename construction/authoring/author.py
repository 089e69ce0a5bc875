"""One fact through the models: its questions, their scripts, the cut prompts, and what the checks say of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from construction.authoring.diversity import chosen_verdict, selection_order, surplus_verdict
from construction.authoring.outcome import (
    REPEATED,
    AuthorAttempts,
    FactOutcome,
    QuestionOutcome,
    ScriptOutcome,
    Slot,
    overall_label,
)
from construction.checks import CheckInputs, judge
from construction.checks.prompts import complaint
from construction.llm.call_lineage import lineage_of_call
from construction.llm.client import Client, Reply, gather_all
from construction.llm.prompt_file import PromptFileStep
from construction.prompts.prompt_file import FILES, WriterPrompt
from construction.scripts.question_step import QuestionAsk, QuestionStep, relation_words
from construction.scripts.script_step import Draft, RejectedScript, ScriptAsk, ScriptStep, script_of
from construction.scripts.truncation import cut_script
from construction.verifier.steps import (
    ON_PROMPTS,
    ON_QUESTIONS,
    UnansweredCall,
    Verifier,
    read_verdict,
)
from schemas.core.records import Record
from schemas.facts import Fact
from schemas.lineage import Lineage
from schemas.scripts import ScriptQuestion
from schemas.text.escaping import escape_line
from schemas.verdicts import Span, Verdict

FAILED = "failed"  # stage of a call that brought nothing; it is cached for its tokens and for its reason


class ScriptWriter(NamedTuple):
    """A model that writes scripts: who is asked, and how."""

    client: Client
    step: ScriptStep

    @property
    def name(self) -> str:
        """The author, as the lineage names it."""
        return self.client.endpoint.model


@dataclass
class _Written:
    """What one author wrote for one question so far, and what was wrong with what is no script."""

    scripts: list[ScriptOutcome] = field(default_factory=list)
    trouble: list[Verdict] = field(default_factory=list)

    def attempts(self, author: str) -> AuthorAttempts:
        """All of it, each text once."""
        unique = {one.script.id: one for one in self.scripts}
        return AuthorAttempts(author, tuple(unique.values()), () if self.scripts else tuple(self.trouble))


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
        steps: list[PromptFileStep[Any, Any, WriterPrompt]] = [questions, *(w.step for w in writers)]
        self._foreign = {s.label: s.wording.digest for s in steps if not FILES.is_shipped(s.wording)}

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
        calls = self._questions.calls(fact, count=quota.candidates, edited=edited)
        try:
            parts = await gather_all([self._slots(call, trace) for call in calls])
            slots = _drop_repeats([slot for part in parts for slot in part], quota.candidates)
            slots = await self._read_questions(fact, slots, trace)
            slots = [self._screened(slot) for slot in slots]  # after the reading, or the rest would be read anew
            if quota.scripts:
                slots = await self._filled(fact, slots, quota, trace)
            else:
                slots = [replace(s, questions=tuple(replace(q, alone=True) for q in s.questions)) for s in slots]
        except UnansweredCall as error:
            return FactOutcome(fact, unfinished=str(error))
        failure = next((s.failure for s in slots if s.failure), "")
        none = not any(s.questions for s in slots)
        verdicts = judge("fact", CheckInputs(fact=fact, facts=facts))
        verdicts += judge("reply", CheckInputs(fact=fact, failure=failure if none else ""))
        return FactOutcome(fact, tuple(_compare_questions(fact, slots)), tuple(verdicts), tuple(trace))

    async def _slots(self, call: QuestionAsk, trace: list[Lineage]) -> list[Slot]:
        """The slots of one call; a prompt with one question a call tries again until one passes."""
        outcomes: list[QuestionOutcome] = []
        failure = "the reply holds fewer questions than asked for"
        step = self._questions
        for attempt in range(step.wording.attempts):
            reply = await _ask(self._client, step, call, call.fact.key, str(call.index), sample=attempt)
            if reply.value is None:
                failure = f"{reply.status}: {reply.message}"
                trace.append(self._failed_lineage(call.fact, "questions", self._client, step, reply, attempt, failure))
                continue
            for question in step.parse(call, reply.value):
                verdicts = judge("question", CheckInputs(fact=call.fact, question=question))
                outcomes.append(QuestionOutcome(question, tuple(verdicts)))
                trace.append(self._line(question, "questions", self._client, step, reply, attempt, call.fact.id))
            if outcomes and overall_label(outcomes[-1].verdicts) == "keep":
                break
        if step.wording.shape == "one":
            return [Slot(tuple(outcomes), "" if outcomes else failure)]
        return [Slot((q,)) for q in outcomes] + [Slot(failure=failure)] * (call.count - len(outcomes))

    def _screened(self, slot: Slot) -> Slot:
        """The slot with what people said of its question, where they dropped it."""
        if not slot.questions or slot.questions[-1].question.id not in self._dropped:
            return slot
        return slot.with_verdicts([self._dropped[slot.questions[-1].question.id]])

    async def _read_questions(self, fact: Fact, slots: list[Slot], trace: list[Lineage]) -> list[Slot]:
        """The slots with what the verifier says of their questions that stand, before scripts are paid for."""
        if self._reader is None:
            return slots
        questions = [slot.questions[-1].question for slot in slots if slot.passes]
        said = await self._reader.read(ON_QUESTIONS, fact, questions, trace)
        return [slot.with_verdicts(said[slot.questions[-1].question.id]) if slot.passes else slot for slot in slots]

    async def _filled(self, fact: Fact, slots: list[Slot], quota: QuestionQuota, trace: list[Lineage]) -> list[Slot]:
        """Slots with scripts for as many questions as are wanted; one whose scripts all fail is replaced."""
        passing = [n for n, slot in enumerate(slots) if slot.passes]
        queue = passing
        if quota.candidates > quota.questions:
            queue = [passing[n] for n in selection_order([slots[n].questions[-1] for n in passing])]
        standing_ = tried = 0
        while tried < len(queue) and standing_ < quota.questions:
            turn = queue[tried : tried + quota.questions - standing_]
            tried += len(turn)
            scripted_slots = await self._scripted(fact, [slots[n] for n in turn], quota.scripts, trace)
            scripted_slots = await self._read(fact, scripted_slots, trace)
            for place, slot in zip(turn, scripted_slots, strict=True):
                slots[place] = slot
                standing_ += slot.standing != "drop"
        if quota.candidates > quota.questions:
            _settle(slots, chosen=queue[:tried], surplus=queue[tried:])
            if standing_ >= quota.questions:  # candidates that the model left out are not missed
                slots = [slot if slot.questions else Slot(failure=slot.failure, surplus=True) for slot in slots]
        return slots

    async def _scripted(self, fact: Fact, slots: Sequence[Slot], count: int, trace: list[Lineage]) -> list[Slot]:
        """The slots with scripts for the last question of each."""
        questions = [slot.questions[-1].question for slot in slots]
        tasks = [
            self._write_scripts(fact, questions[start : start + writer.step.wording.together], writer, n, trace)
            for writer in self._writers
            for n in range(count)
            for start in range(0, len(questions), writer.step.wording.together)
        ]
        attempts: defaultdict[str, list[AuthorAttempts]] = defaultdict(list)
        for written in await gather_all(tasks):
            for key, one in written.items():
                attempts[key].append(one)
        scripted = []
        for slot in slots:
            *earlier, last = slot.questions
            own = tuple(attempts[last.question.key])
            trouble = next((w.trouble for w in own if w.trouble), ())
            more = () if any(w.scripts for w in own) else trouble
            last = QuestionOutcome(last.question, (*last.verdicts, *more), own)
            scripted.append(Slot((*earlier, last)))
        return scripted

    async def _write_scripts(
        self, fact: Fact, questions: Sequence[ScriptQuestion], writer: ScriptWriter, number: int, trace: list[Lineage]
    ) -> dict[str, AuthorAttempts]:
        """One script of one author for each question, in as many attempts as its prompt allows.

        What the checks reject is asked for again, with the reason where the prompt tells it.

        Args:
            fact: The fact.
            questions: At most as many as the prompt takes in one request.
            writer: The author.
            number: Which of its scripts, from 0.
            trace: Takes the lineage.

        Returns:
            What was written, by the question's key.
        """
        step = writer.step
        written = {question.key: _Written() for question in questions}
        pending, rejected = list(questions), list[RejectedScript]()
        for sample in range(number * step.wording.attempts, (number + 1) * step.wording.attempts):
            ask = ScriptAsk(
                questions=tuple(pending),
                old=fact.old,
                relation=relation_words(fact),
                relation_id=fact.relation.id,
                rejected=tuple(rejected),
            )
            reply = await _ask(writer.client, step, ask, *(q.key for q in pending), sample=sample)
            if reply.value is None:
                failure = f"{reply.status}: {reply.message}"
                for question in pending:
                    inputs = CheckInputs(fact=fact, question=question, failure=failure)
                    written[question.key].trouble = written[question.key].trouble or judge("reply", inputs)
                    trace.append(self._failed_lineage(question, "scripts", writer.client, step, reply, sample, failure))
                if step.wording.again is not None:
                    break  # a second script is for one that was rejected; the client has asked again already
                continue
            left: dict[str, RejectedScript] = {}
            for question, draft in zip(pending, step.parse(ask, reply.value), strict=True):
                again = self._take(fact, question, draft, written[question.key], writer, reply, sample, trace)
                if again is not None:
                    left[question.key] = again
            pending, rejected = [q for q in pending if q.key in left], list(left.values())
            if not pending:
                break
        return {key: one.attempts(writer.name) for key, one in written.items()}

    def _take(
        self,
        fact: Fact,
        question: ScriptQuestion,
        draft: Draft | None,
        written: _Written,
        writer: ScriptWriter,
        reply: Reply,
        sample: int,
        trace: list[Lineage],
    ) -> RejectedScript | None:
        """Check one draft and note what came of it; what to say of it where another one is to be asked for."""
        wrong = "the reply has no script for this question" if draft is None else complaint(draft)
        if draft is None or wrong is not None:
            written.trouble = judge("draft", CheckInputs(fact=fact, question=question, draft=draft or ()))
            failure = f"no script in the format: {wrong}"
            trace.append(self._failed_lineage(question, "scripts", writer.client, writer.step, reply, sample, failure))
            return RejectedScript(draft or (), reason_for_author(question, written.trouble))
        outcome = _check_draft(fact, question, draft)
        written.scripts.append(outcome)
        trace += self._script_lines(outcome, question, writer, reply, sample)
        if outcome.standing == "keep":
            return None
        reason = reason_for_author(question, outcome.verdicts)
        if writer.step.wording.again is not None and not reason:
            return None  # nothing that could be told
        return RejectedScript(outcome.script.steps, reason)

    async def _read(self, fact: Fact, slots: Sequence[Slot], trace: list[Lineage]) -> list[Slot]:
        """The slots with what the verifier, and who read them since, says of their prompts that stand."""
        scripts = [script for slot in slots for author in slot.questions[-1].written for script in author.scripts]
        prompts = {s.prompt.id: s.prompt for s in scripts if s.prompt is not None and s.standing != "drop"}
        said: dict[str, list[Verdict]] = {key: [] for key in prompts}
        if self._reader is not None:
            said = await self._reader.read(ON_PROMPTS, fact, list(prompts.values()), trace)
            for slot in slots:
                question = slot.questions[-1]
                for key in {s.prompt.id for s in question.scripts if s.prompt is not None} & prompts.keys():
                    unscored = any(v.label == "unscored" for v in (*question.verdicts, *said[key]))
                    said[key].append(read_verdict(key, by="" if unscored else self._reader.name))
        elif self._unread:
            said = {key: [read_verdict(key)] for key in prompts}
        for key in prompts:
            said[key] += [self._dropped[key]] if key in self._dropped else []

        def with_verdicts(one: ScriptOutcome) -> ScriptOutcome:
            more = said.get(one.prompt.id, ()) if one.prompt is not None else ()
            return ScriptOutcome(one.script, one.prompt, (*one.verdicts, *more))

        read = []
        for slot in slots:
            *earlier, last = slot.questions
            written = tuple(
                replace(author, scripts=tuple(with_verdicts(script) for script in author.scripts))
                for author in last.written
            )
            read.append(replace(slot, questions=(*earlier, replace(last, written=written))))
        return read

    def _line(
        self,
        item: Record,
        stage: str,
        client: Client,
        step: PromptFileStep[Any, Any, WriterPrompt],
        reply: Reply,
        sample: int,
        *parents: str,
    ) -> Lineage:
        quality, foreign = step.wording.quality_of(client.endpoint.model), self._foreign.get(step.label)
        detail: dict[str, Any] = {"sample": sample}
        detail |= {"quality": quality} if quality else {}
        detail |= {"wording": foreign} if foreign else {}
        return lineage_of_call(item.id, stage, reply, client, step.label, parents=parents, detail=detail)

    def _failed_lineage(
        self,
        item: Record,
        of: str,
        client: Client,
        step: PromptFileStep[Any, Any, WriterPrompt],
        reply: Reply,
        sample: int,
        why: str,
    ) -> Lineage:
        """The line of a call for an item's questions or scripts that brought nothing."""
        line = self._line(item, FAILED, client, step, reply, sample)
        return line.model_copy(update={"detail": {**line.detail, "of": of, "why": why[:300]}})

    def _script_lines(
        self, outcome: ScriptOutcome, question: ScriptQuestion, writer: ScriptWriter, reply: Reply, sample: int
    ) -> list[Lineage]:
        line = self._line(outcome.script, "scripts", writer.client, writer.step, reply, sample, question.id)
        if outcome.prompt is None:
            return [line]
        quality = {k: v for k, v in line.detail.items() if k == "quality"}
        parents = (outcome.script.id,)
        cut = Lineage(item_id=outcome.prompt.id, stage="truncate", parents=parents, made_at=reply.at, detail=quality)
        return [line, cut]


async def _ask(
    client: Client, step: PromptFileStep[Any, Any, WriterPrompt], item: Any, *names: str, sample: int
) -> Reply:
    reply = await client.ask(step.sample(item, *names, attempt=sample))
    if reply.status == "unanswered":
        raise UnansweredCall(reply.message)
    return reply


def _check_draft(fact: Fact, question: ScriptQuestion, draft: Draft) -> ScriptOutcome:
    """A draft in the format as a script, cut and checked."""
    script = script_of(question, draft)
    prompt = cut_script(fact, question, script)
    material = CheckInputs(fact=fact, question=question, draft=draft, script=script, prompt=prompt)
    verdicts = [*judge("draft", material), *judge("script", material)]
    if prompt is not None:
        verdicts += judge("prompt", material)
    return ScriptOutcome(script, prompt, tuple(verdicts))


def _settle(slots: list[Slot], *, chosen: Sequence[int], surplus: Sequence[int]) -> None:
    """Say of every question that passed whether it was chosen."""
    good = [slots[n].questions[-1].question for n in chosen if slots[n].standing != "drop"]
    for n in (*chosen, *surplus):
        *earlier, last = slots[n].questions
        left = n in surplus
        verdict = surplus_verdict(last.question, good) if left else chosen_verdict(last.question)
        last = QuestionOutcome(last.question, (*last.verdicts, verdict), last.written)
        slots[n] = Slot((*earlier, last), slots[n].failure, surplus=left)


def _compare_questions(fact: Fact, slots: Sequence[Slot]) -> list[Slot]:
    """Slots with the verdicts that hold a question against the earlier ones that stand."""
    earlier: list[ScriptQuestion] = []
    compared = []
    for slot in slots:
        questions = []
        for q in slot.questions:
            known = {v.key for v in q.verdicts}
            material = CheckInputs(fact=fact, question=q.question, questions=tuple(earlier))
            more = [v for v in judge("question", material) if v.key not in known]
            questions.append(replace(q, verdicts=(*q.verdicts, *more)))
        if slot.passes:
            earlier.append(slot.questions[-1].question)
        compared.append(Slot(tuple(questions), slot.failure, slot.surplus))
    return compared


def _drop_repeats(slots: Sequence[Slot], count: int) -> list[Slot]:
    """Slots in which a question that an earlier slot holds already does not stand again."""
    seen: set[str] = set()
    slots_left: list[Slot] = []
    for slot in slots[:count]:
        new = {q.question.key: q for q in slot.questions if q.question.key not in seen}
        seen |= new.keys()
        lost = slot.questions and not new
        slots_left.append(Slot(tuple(new.values()), f"{REPEATED}: the same question again" if lost else slot.failure))
    return slots_left


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
        return f"up to the object it must not hold {' or '.join(_quote_spans(in_steps))}"
    return "" if verdict.spans or verdict.label != "drop" else "it does not keep all the rules"


def _quote_spans(spans: Iterable[Span]) -> list[str]:
    words = dict.fromkeys(escape_line(" ".join(span.text.split()))[:_LONGEST] for span in spans)
    return [f"'{word}'" for word in list(words)[:3]]
