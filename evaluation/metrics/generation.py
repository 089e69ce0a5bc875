"""How questions are asked and texts are written in a run, as its configuration says it.

The tables ``[generation]``, ``[documents]``, ``[events]`` and ``[specificity]``; the prompt of a query about a document
and the hint that a cloze gives (MULFE, Example 7); and questions that all cases of a run share.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, model_validator

from evaluation.metrics import METRICS
from evaluation.metrics.base import Metric
from schemas.core.config import Options
from schemas.core.errors import UserError
from schemas.core.ids import seed as seed_of
from schemas.documents.specificity import SpecificitySet
from schemas.probes import ScoreProbe, ThoughtAsked
from schemas.text.thoughts import MARKS


class DocumentChoice(Options):
    """How probes of documents are asked.

    Attributes:
        instruction: What stands before every question, a blank line between (MULFE, Example 7); empty for nothing.
        hint: Whether what stands before a cloze's blank is given as the beginning of the answer. The paper says so for
            GPT-2 models, the released configuration for all.
        answer_tokens: The most new tokens of a written answer, which ends with its line.

    Example:
        >>> DocumentChoice().hint
        True
    """

    instruction: str = "Directly answer the question."
    hint: bool = True
    answer_tokens: Annotated[int, Field(ge=1)] = 24


class EventChoice(Options):
    """How questions about events are asked, and how their answers are read.

    Attributes:
        instruction: ``same``: one instruction for every method, before and after the edit. ``paper``: as published,
            another one where an event stands before the question; only that one says that "unknown" is an answer.
        answer_tokens: The most new tokens of a short answer, which ends with its line.
        open_tokens: The most new tokens of an open answer.
        unknown: What counts as the answer "unknown": ``leading``, an answer that is this word or begins with it;
            ``anywhere``, as published, an answer that holds it ("the unknown soldier").
        orders: In which orders the three options are shown: ``cyclic``, all three rotations, their shares averaged;
            ``given``, as published, the order of the data.

    Example:
        >>> EventChoice().instruction
        'same'
    """

    instruction: Literal["same", "paper"] = "same"
    answer_tokens: Annotated[int, Field(ge=1)] = 24
    open_tokens: Annotated[int, Field(ge=1)] = 128
    unknown: Literal["leading", "anywhere"] = "leading"
    orders: Literal["cyclic", "given"] = "cyclic"


class SpecificityChoice(Options):
    """Questions that the unedited model answers, shared by all cases (MULFE §4.3).

    Attributes:
        file: A specificity set of the run's model: one record as JSON, or MULFE's released shape.
        number: So many of them after every edit, drawn anew for each; ``all`` as published (400).
        seed: Of the draws.
        instruction: What stands before these questions instead of the run's instruction, such as the prompt that took
            no part in choosing them.

    Example:
        >>> SpecificityChoice.model_validate({"file": "known.json"}).number
        40
    """

    file: Path
    number: Annotated[int, Field(ge=1)] | Literal["all"] = 40
    seed: int = 0
    instruction: str | None = None


LABELS = ("Question:", "Answer:")
"""What stands before a question and before its answer."""

_BLANK = re.compile("_{3,}")


class ClozeHint(NamedTuple):
    """What stands before a cloze's blank, and what stands between that and the blank: a space or nothing."""

    text: str = ""
    separator: str = " "


def cloze_hint(query: str) -> ClozeHint:
    """The hint that a query gives: its text before the blank.

    A question has none, nor has a cloze with a question mark. In our copy of the published evaluation part 857 of 1,008
    clozes go on after the blank; the hint ends before it all the same. A blank after an opening quotation mark or a
    hyphen follows it without a space.

    Example:
        >>> cloze_hint("Hulu calls The Great '___'."), cloze_hint("Is ___ a city?").text, cloze_hint("___ won.").text
        (ClozeHint(text="Hulu calls The Great '", separator=''), '', '')
    """
    match = _BLANK.search(query)
    if match is None or "?" in query:
        return ClozeHint()
    before = query[: match.start()]
    if not before.strip():
        return ClozeHint()
    return ClozeHint(before.rstrip(), " " if before != before.rstrip() else "")


def cloze_probe(
    purpose: str, item: str, query: str, answer: str | tuple[str, ...], choice: DocumentChoice
) -> ScoreProbe:
    """Ask how probable an answer to a query is, or each of several, and whether greedy writing would begin with it."""
    prompt = prompt_of(query, choice)
    return ScoreProbe(
        purpose=purpose,
        item=item,
        prompt=prompt.text,
        separator=prompt.separator,
        targets=(answer,) if isinstance(answer, str) else answer,
        instruction=choice.instruction,
        greedy=True,
    )


def prompt_of(query: str, choice: DocumentChoice, *, labels: tuple[str, str] = LABELS) -> ClozeHint:
    r"""The prompt that asks a query, and what stands between it and the answer; ``labels`` stand before the two.

    Example:
        >>> prompt_of("Who designed it?", DocumentChoice())
        ClozeHint(text='Question: Who designed it?\nAnswer:', separator=' ')
        >>> prompt_of("It opened in ___.", DocumentChoice()).text
        'Question: It opened in ___.\nAnswer: It opened in'
    """
    hint = cloze_hint(query) if choice.hint else ClozeHint()
    hint_text = f" {hint.text}" if hint.text else ""
    return ClozeHint(f"{labels[0]} {query}\n{labels[1]}{hint_text}", hint.separator)


PURPOSE = "specificity"


class SharedQuestions:
    """A set of questions, so many of which are drawn for every edit.

    Args:
        questions: The set.
        choice: How they are asked, as probes of documents are.
        number: So many after an edit; None: all.
        seed: Of the draws, which also depend on the case.
        instruction: What stands before them instead of the instruction of ``choice``.
    """

    def __init__(
        self,
        questions: SpecificitySet,
        choice: DocumentChoice = DocumentChoice(),  # noqa: B008 - a value
        *,
        number: int | None = None,
        seed: int = 0,
        instruction: str | None = None,
    ) -> None:
        self.set, self.number, self.seed, self.instruction = questions, number, seed, instruction
        self.choice = choice if instruction is None else choice.model_copy(update={"instruction": instruction})
        self._drawn: dict[str, tuple[ScoreProbe, ...]] = {}

    @classmethod
    def chosen(cls, known: SpecificitySet, choice: SpecificityChoice, asked: DocumentChoice) -> SharedQuestions:
        """The questions of a set that a run asks.

        Args:
            known: The set.
            choice: The table ``[specificity]`` of the run.
            asked: How they are asked.

        Raises:
            UserError: the set has fewer questions than are to be asked.
        """
        number = None if choice.number == "all" else choice.number
        if number is not None and number > len(known.questions):
            raise UserError(
                f"{number} questions are to be asked after every edit, and the set '{known.key}' has "
                f"{len(known.questions)}",
                where="specificity.number",
                fix='ask fewer, or set number = "all"',
            )
        return cls(known, asked, number=number, seed=choice.seed, instruction=choice.instruction)

    @cached_property
    def probes(self) -> tuple[ScoreProbe, ...]:
        """What all questions ask, in the set's order."""
        return tuple(cloze_probe(PURPOSE, q.item, q.query, q.answer, self.choice) for q in self.set.questions)

    def drawn(self, case: str) -> tuple[ScoreProbe, ...]:
        """What is asked after the edit of a case, in the set's order: equal for every method and session."""
        if self.number is None or self.number >= len(self.probes):
            return self.probes
        if case not in self._drawn:
            ranked = sorted(self.probes, key=lambda p: (seed_of(str(self.seed), case, p.item, PURPOSE), p.item))
            chosen = {probe.item for probe in ranked[: self.number]}
            self._drawn[case] = tuple(probe for probe in self.probes if probe.item in chosen)
        return self._drawn[case]

    def description(self) -> dict[str, Any]:
        """What ``run.json`` keeps, so that a report needs no other file."""
        instruction = {} if self.instruction is None else {"instruction": self.instruction}
        return {"set": self.set.payload(), "number": self.number, "seed": self.seed, **instruction}

    @classmethod
    def from_description(cls, description: Mapping[str, Any], choice: DocumentChoice) -> SharedQuestions:
        """As a finished run's ``run.json`` says."""
        questions = SpecificitySet.model_validate(description["set"])
        number, seed, instruction = description["number"], description["seed"], description.get("instruction")
        return cls(questions, choice, number=number, seed=seed, instruction=instruction)


Mark = Annotated[str, Field(min_length=1)]
"""A text at which something begins or ends."""


class ThoughtChoice(Options):
    """That the model thinks first: the table ``[generation.thought]``.

    Attributes:
        tokens: The most new tokens of thoughts, beside those of the answer.
        marks: Pairs of opening and closing marks; those that models use most where none are named.
        enable: What the chat template is told as ``enable_thinking``; left out, it is told nothing.
        everywhere: Fact prompts and cut steps are put in the chat template, too, with an instruction to go on: most
            models think nowhere else.

    Example:
        >>> ThoughtChoice(marks=[["<r>", "</r>"]]).asked.marks
        (('<r>', '</r>'),)
    """

    tokens: Annotated[int, Field(ge=1)] = 1024
    marks: Annotated[tuple[tuple[Mark, Mark], ...], Field(min_length=1)] = MARKS
    enable: bool | None = None
    everywhere: bool = False

    @model_validator(mode="after")
    def _check_marks(self) -> ThoughtChoice:
        named = [mark for pair in self.marks for mark in pair]
        if twice := next((mark for mark in named if named.count(mark) > 1), None):
            raise ValueError(f"the mark {twice!r} stands twice: opening and closing marks must differ")
        return self

    @property
    def asked(self) -> ThoughtAsked:
        """As a probe has it."""
        return ThoughtAsked(marks=self.marks, most=self.tokens, enable=self.enable)


class GenerationChoice(Options):
    r"""How texts are written. Everything here is part of the probes' ids, so another choice is asked anew.

    Attributes:
        max_tokens: The most new tokens of a script.
        step_tokens: Of the rest of a cut step.
        temperature: 0 writes the likeliest token always; above, tokens are drawn.
        top_p: Draw among the likeliest tokens of this joint probability.
        samples: Scripts for each question; more than one needs a temperature.
        chat: Whether script questions are put in the model's chat template: ``auto`` where it has one.
        start: How a script begins where no chat template is used.
        stop: Texts at which a script ends; they are cut off. Models that count on without an end are so held to the
            nine steps that are asked for: ``["Step 10", "\n10."]``. Such a script keeps not to the format.
        thought: Of a model that thinks first; thoughts are then taken out of the texts. None: all is answer.

    Example:
        >>> GenerationChoice(chat="never").max_tokens
        256
    """

    max_tokens: Annotated[int, Field(ge=1)] = 256
    step_tokens: Annotated[int, Field(ge=1)] = 24
    temperature: Annotated[float, Field(ge=0)] = 0.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    samples: Annotated[int, Field(ge=1)] = 1
    chat: Literal["auto", "never", "always"] = "auto"
    start: str = "Step 1:"
    stop: tuple[Mark, ...] = ()
    thought: ThoughtChoice | None = None

    @property
    def thought_asked(self) -> ThoughtAsked | None:
        """That the model may think first, as a probe has it."""
        return None if self.thought is None else self.thought.asked

    @property
    def chat_everywhere(self) -> bool:
        """Whether prompts that are to be continued are put in the chat template, too."""
        return self.thought is not None and self.thought.everywhere

    @model_validator(mode="after")
    def _check_draws(self) -> GenerationChoice:
        if self.samples > 1 and self.temperature == 0:
            raise ValueError("several samples are all the same at temperature 0: set a temperature")
        return self


class Generation(NamedTuple):
    """The choice, the digest of the split that seeds are drawn from, and how events and documents are asked about.

    ``shared``: questions that all cases share, where the run has some.
    """

    choice: GenerationChoice = GenerationChoice()
    digest: str = ""
    events: EventChoice = EventChoice()
    documents: DocumentChoice = DocumentChoice()
    shared: SharedQuestions | None = None

    @classmethod
    def from_description(cls, description: Mapping[str, Any]) -> Generation:
        """As a finished run's ``run.json`` says."""
        config = description.get("config", {})
        documents, shared = DocumentChoice.model_validate(config.get("documents") or {}), description.get("specificity")
        return cls(
            GenerationChoice.model_validate(config.get("generation") or {}),
            description["split_digest"],
            EventChoice.model_validate(config.get("events") or {}),
            documents,
            None if shared is None else SharedQuestions.from_description(shared, documents),
        )

    def seed(self, case: str, purpose: str, item: str, sample: int = 0) -> int:
        """Seed of one text, from (split digest, case, purpose): the same for every method; 0 where nothing is drawn."""
        if self.choice.temperature == 0:
            return 0
        return seed_of(self.digest, case, purpose, item, str(sample))


def load_metrics(names: Iterable[str], generation: Generation = Generation()) -> tuple[Metric, ...]:  # noqa: B008 - a value
    """Metrics by name; those that ask for texts are told how to have them written."""
    kinds = [METRICS.get(name) for name in names]
    return tuple(kind(generation) if kind.asks_for_texts else kind() for kind in kinds)


def metrics_of(description: Mapping[str, Any]) -> tuple[Metric, ...]:
    """The metrics of a finished run, from its ``run.json``: they ask what was asked then."""
    return load_metrics(description["metrics"], Generation.from_description(description))
