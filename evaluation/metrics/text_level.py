"""Metrics of written scripts without a judge, and what they ask for: scripts, rests of cut steps, thoughts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple, TypedDict

from typing_extensions import override

from evaluation.metrics.base import (
    NEVER_NEGATIVE,
    Metric,
    Normalisation,
    Role,
    item_with_value,
    item_without_value,
    row,
)
from evaluation.metrics.generation import Generation
from evaluation.metrics.script_parser import (
    ENTROPY_WORDS,
    INSTRUCTION,
    Named,
    broken_rules,
    declines,
    has_repetition,
    n_gram_entropy,
    names,
    parse,
)
from schemas.answers import Answer, GeneratedText, ItemScore
from schemas.cases import Case, CaseNeighbour
from schemas.facts import Object
from schemas.probes import GenerateProbe
from schemas.scripts import ScriptPrompt
from schemas.text.mentions import find

QUESTION = "script_question"
CONTINUED = "script_continued"
GO_ON = (
    "The text below is a script that was cut off in the middle of a step. Go on exactly where it stops: write the rest "
    "of that step and nothing else."
)
"""What stands before a cut step in a message to a model that is asked in messages only."""


class Objects(NamedTuple):
    """The two objects of an edit, with the names that a script prompt gives them."""

    new: Object
    old: Object


def objects(case: Case, prompt: ScriptPrompt | None = None) -> Objects:
    """What is looked for in a text.

    Raises:
        UserError: the case's fact has no new object, so it is no edit.
    """
    targets = prompt.targets if prompt is not None else ()
    return Objects(_with_names(case.fact.new_object, targets[1:2]), _with_names(case.fact.old, targets[:1]))


def _with_names(entity: Object, names: Sequence[str]) -> Object:
    more = tuple(n for n in names if n not in entity.names)
    return entity.model_copy(update={"aliases": (*entity.aliases, *more)}) if more else entity


def questions(case: Case | CaseNeighbour) -> list[tuple[str, str]]:
    """Script questions of a case or a neighbour, as (key, text); of prompts without a record the first line."""
    if case.questions:
        return [(q.key, q.text) for q in case.questions]
    heads = {p.text.split("\n", 1)[0]: p.question or p.key for p in reversed(case.prompts) if "\n" in p.text}
    return [(key, text) for text, key in reversed(heads.items())]


class SamplingArguments(TypedDict):
    """How a text is drawn, as a probe has it."""

    temperature: float
    top_p: float
    seed: int


def sampling_of(generation: Generation, case: str, purpose: str, item: str, sample: int = 0) -> SamplingArguments:
    """How a text is drawn; without temperature nothing is drawn, and top_p is 1."""
    choice = generation.choice
    top_p = choice.top_p if choice.temperature else 1.0
    return {"temperature": choice.temperature, "top_p": top_p, "seed": generation.seed(case, purpose, item, sample)}


def script_for(case: Case, key: str, text: str, generation: Generation, sample: int = 0) -> GenerateProbe:
    """Ask for the script that answers a question, in the format of Appendix A; its length and stop texts cut it."""
    choice = generation.choice
    return GenerateProbe(
        purpose=QUESTION,
        item=key,
        prompt=text,
        instruction=INSTRUCTION,
        chat=choice.chat,
        start=choice.start,
        most=choice.max_tokens,
        stop=choice.stop,
        sample=sample,
        thought=choice.thought_asked,
        **sampling_of(generation, case.key, QUESTION, key, sample),
    )


def scripts_for(case: Case, generation: Generation) -> list[GenerateProbe]:
    """Every sample of every script question."""
    asked_questions = questions(case)
    return [
        script_for(case, key, text, generation, n)
        for key, text in asked_questions
        for n in range(generation.choice.samples)
    ]


def rest_of_step(case: Case, prompt: ScriptPrompt, generation: Generation) -> GenerateProbe:
    """Continue a script prompt to the end of the cut step. Not in a chat template, as S-ES is scored without one.

    Spaces at the end are left to the model, whose tokens begin with them. Where the model shall think everywhere
    (``ThoughtChoice``), the template is put around, with an instruction to go on.
    """
    chat = generation.choice.chat_everywhere
    return GenerateProbe(
        purpose=CONTINUED,
        item=prompt.key,
        prompt=prompt.text,
        separator=prompt.separator.rstrip(" "),
        instruction=GO_ON if chat else "",
        chat="always" if chat else "never",
        most=generation.choice.step_tokens,
        stop=("\n",),
        thought=generation.choice.thought_asked,
        **sampling_of(generation, case.key, CONTINUED, prompt.key),
    )


UNFINISHED = "the thought has no end: there is no answer"
"""Why a text of a model that thinks first has no value."""


class WrittenMetric(Metric):
    """One value for every text of a case; by default the scripts that answer its questions.

    Args:
        generation: How texts are written; decides the probes.
    """

    role: ClassVar[Role] = "text"
    asks_for_texts: ClassVar[bool] = True
    measure: ClassVar[Callable[[Case, GeneratedText], float | str]]

    def __init__(self, generation: Generation = Generation()) -> None:  # noqa: B008 - a value
        self.generation = generation

    @override
    def probes(self, case: Case) -> Sequence[GenerateProbe]:
        return scripts_for(case, self.generation)

    def value(self, case: Case, probe: GenerateProbe, written: GeneratedText) -> float | str:
        """The text's value, or why it has none; where it takes the case and the text alone, that is ``measure``."""
        return type(self).measure(case, written)

    def read(self, answer: Answer | None) -> GeneratedText | str:
        """The text that is measured, or why there is none."""
        return text_of(answer)

    def item_of(
        self,
        case: Case,
        probe: GenerateProbe,
        after: Answer | None,
        before: Answer | None,
        normalisation: Normalisation,
    ) -> ItemScore:
        """The value of a text; one that was not written has none. The normalisation changes nothing."""
        written = self.read(after)
        if isinstance(written, str):
            return item_without_value(probe, written)
        value = self.value(case, probe, written)
        if isinstance(value, str):
            return item_without_value(probe, value)
        return item_with_value(probe, value)


def text_of(answer: Answer | None) -> GeneratedText | str:
    """The written text, or why there is none."""
    if answer is None:
        return "no answer"
    if answer.error is not None:
        return answer.error
    if answer.written is None:
        return "the answer holds no text"
    return UNFINISHED if answer.written.unfinished else answer.written


class SESGen(WrittenMetric):
    """Continued from the script prompt, does the cut step name the new object first?

    A step that names neither object counts as not naming the new one. Whether the text repeats itself, and which
    other objects it names, is counted by ``evaluation.analysis.written_facts``.
    """

    name: ClassVar[str] = "s_es_gen"
    title: ClassVar[str] = "S-ES-gen"
    about: ClassVar[str] = (
        "Script-based Efficacy, written: continued from the script prompt, the cut step names the new object first"
    )
    role: ClassVar[Role] = "text_efficacy"

    @override
    def probes(self, case: Case) -> Sequence[GenerateProbe]:
        return [rest_of_step(case, p, self.generation) for p in case.prompts]

    @override
    def value(self, case: Case, probe: GenerateProbe, written: GeneratedText) -> float:
        prompt = next((p for p in case.prompts if p.key == probe.item), None)
        return float(names(written.text, *objects(case, prompt)).first == "new")


def is_script(text: str) -> bool:
    """Whether a written text is a script at all: it has steps, and does not go round in circles.

    Example:
        >>> is_script("Step 1: Fly to Rome"), is_script("Rome Rome Rome Rome"), is_script("Fly to Rome")
        (True, False, False)
    """
    return bool(parse(text).steps) and not has_repetition(text)


SESGenQuestion = row(
    WrittenMetric,
    name="s_es_gen_question",
    version=2,
    title="S-ES-gen (question)",
    role="script_written",
    about=(
        "The script written for the question alone names the new object, and before the old one; a text without steps, "
        "or with repetition, does not"
    ),
    measure=lambda case, written: float(is_script(written.text) and names(written.text, *objects(case)).first == "new"),
)


class SNSGenQuestion(WrittenMetric):
    """Does the script written for a neighbour's question stay free of the edit's new object?

    The twin of ``s_es_gen_question`` for what the edit should leave alone, whatever kind of neighbour it is. A script
    that names neither object was left alone: small models seldom name what a script is about, edited or not.
    """

    name: ClassVar[str] = "s_ns_gen_question"
    version: ClassVar[int] = 2
    title: ClassVar[str] = "S-NS-gen (question)"
    about: ClassVar[str] = (
        "The script written for a neighbour's question alone does not name the edit's new object, or only after the "
        "neighbour's own; a text without steps, or with repetition, is no script"
    )

    def probes(self, case: Case) -> Sequence[GenerateProbe]:
        """A script for every question of every neighbour; the neighbour is a second cluster."""
        return [
            script_for(case, key, text, self.generation, n).model_copy(update={"cluster": neighbour.fact.key})
            for neighbour in case.neighbours
            for key, text in questions(neighbour)
            for n in range(self.generation.choice.samples)
        ]

    @override
    def value(self, case: Case, probe: GenerateProbe, written: GeneratedText) -> float:
        own = next(n.fact.old for n in case.neighbours if n.fact.key == probe.cluster)
        return float(is_script(written.text) and names(written.text, case.fact.new_object, own).first != "new")


FormatCompliance = row(
    WrittenMetric,
    name="script_format",
    title="Format",
    about=(
        'Format compliance: "Step k:" labels from 1, at most nine steps, each of fewer than eight words on a line of '
        "its own, nothing else, ended by the model itself (Appendix A)"
    ),
    measure=lambda case, written: float(not broken_rules(written.text, ended=written.ended)),
)


def old_steps(case: Case, written: GeneratedText) -> float | str:
    """Steps with the old object among all steps; a text without steps has no value."""
    steps = parse(written.text).steps
    if not steps:
        return "the text has no steps"
    new, old = objects(case)
    return sum(bool(find(s, old, beside=[new])) for s in steps) / len(steps)


OldObjectRate = row(
    WrittenMetric,
    name="old_object_rate",
    title="Old in steps",
    about="Share of a written script's steps that name the old object",
    better="lower",
    measure=old_steps,
)


RepetitionRate = row(
    WrittenMetric,
    name="repetition_rate",
    title="Repetition",
    about=(
        "Share of scripts with repetition: a word four times in a row, a phrase three times, or half of the steps or "
        "trigrams repeated"
    ),
    better="lower",
    measure=lambda case, written: float(has_repetition(written.text)),
)


RefusalRate = row(
    WrittenMetric,
    name="refusal_rate",
    title="Refused",
    about="Share of scripts that the model declines to write (English wordings, no steps)",
    better="lower",
    measure=lambda case, written: float(declines(written.text)),
)


def entropy(case: Case, written: GeneratedText) -> float | str:
    """Bits of the first words, or that the text is too short: entropy grows with length, so all are cut to as many."""
    bits = n_gram_entropy(written.text)
    return f"shorter than {ENTROPY_WORDS} words" if bits is None else bits


NGramEntropy = row(
    WrittenMetric,
    name="n_gram_entropy",
    title="GE",
    about=(
        f"Generation entropy: mean of 2/3 bigram and 4/3 trigram entropy of a script's first {ENTROPY_WORDS} words and "
        "signs"
    ),
    unit="bits",
    bounds=NEVER_NEGATIVE,
    measure=entropy,
)


NO_THOUGHT = "nothing was thought"
NEITHER = "thought or answer names neither object"


class ThoughtReading(NamedTuple):
    """A thought and its answer as read.

    Attributes:
        names_new: The thought names the new object.
        names_old: It names the old one.
        last: The object that it names last: what it comes to.
        answer: The object that the answer names first; None where there is no answer.
    """

    names_new: bool
    names_old: bool
    last: Named
    answer: Named | None

    @property
    def agrees(self) -> bool | None:
        """Whether the answer names first what the thought names last; None where one of them names neither."""
        if self.answer is None or "neither" in (self.last, self.answer):
            return None
        return self.last == self.answer


def read_thought(written: GeneratedText, pair: Objects) -> ThoughtReading | None:
    """What thought and answer name; None where nothing was thought.

    Example:
        >>> from schemas.facts import Object
        >>> pair = Objects(new=Object(text="Rome"), old=Object(text="Paris"))
        >>> text = GeneratedText(text="Fly to Rome.", thought="Rome? No, it is Paris.", tokens=9, ended="eos")
        >>> read_thought(text, pair)
        ThoughtReading(names_new=True, names_old=True, last='old', answer='new')
    """
    if not written.thought:
        return None
    named = names(written.thought, *pair)
    answer = None if written.unfinished else names(written.text, *pair).first
    return ThoughtReading("new" in named.all, "old" in named.all, named.last, answer)


class ThoughtMetric(WrittenMetric):
    """One value for the thought before every script; texts without a thought have none and are counted."""

    of_thought: ClassVar[Callable[[ThoughtReading], float | str]]

    def read(self, answer: Answer | None) -> GeneratedText | str:
        """The text, finished or not: a thought can be read without the answer that was to follow."""
        return text_of(answer) if answer is None or answer.written is None else answer.written

    def value(self, case: Case, probe: GenerateProbe, written: GeneratedText) -> float | str:
        """The value of a thought; without one there is none."""
        reading = read_thought(written, objects(case))
        return NO_THOUGHT if reading is None else type(self).of_thought(reading)


def agreement(reading: ThoughtReading) -> float | str:
    """1 where the answer names first what the thought names last; or why that is not known."""
    if reading.answer is None:
        return UNFINISHED
    return NEITHER if reading.agrees is None else float(reading.agrees)


ThoughtOldRate = row(
    ThoughtMetric,
    name="thought_old_rate",
    title="Old in thought",
    about="Share of the thoughts before a script that name the old object, unfinished ones among them",
    better="lower",
    of_thought=lambda reading: float(reading.names_old),
)


ThoughtNewRate = row(
    ThoughtMetric,
    name="thought_new_rate",
    title="New in thought",
    about="Share of the thoughts before a script that name the new object, unfinished ones among them",
    of_thought=lambda reading: float(reading.names_new),
)


ThoughtAgreement = row(
    ThoughtMetric,
    name="thought_agreement",
    title="Thought agrees",
    about="Share of scripts that name first the object that the thought named last, if both name one",
    of_thought=agreement,
)
