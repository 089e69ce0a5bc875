"""Probes: what a model is asked, by log-probabilities or for a text."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from schemas.core.ids import content_id
from schemas.core.records import Frozen


class ScoreProbe(Frozen):
    """Ask for log P(target | prompt) of every target.

    Attributes:
        purpose: What it is for: ``fact``, ``paraphrase``, ``neighbour``, ``script``, ``script_neighbour``.
        item: Key of the record the prompt comes from.
        cluster: A second cluster beside the case (the neighbour fact), or None.
        prompt: Text without the separator.
        separator: What stands between prompt and target. Where it is white space, prompt and targets have none there.
        targets: Texts to score; the order has a meaning that the metric knows.
        instruction: What stands before the prompt, with a blank line between; an edit that rewrites prompts leaves it
            alone.
        instruction_in_context: What stands there instead where an edit has put something before the prompt.
        chat: Whether it is asked in the model's chat format (``chat_turns``); its model must have one.
        greedy: Whether it also asks if all tokens of a target are the most probable ones.
        matches: Whether it also asks how many of them are (with ``greedy``).
        top: So many of the most probable tokens at the place of the first target are asked for; 0 for none.
    """

    ask: Literal["score"] = "score"
    purpose: str
    item: str
    cluster: str | None = None
    prompt: str
    separator: str = " "
    targets: Annotated[tuple[str, ...], Field(min_length=1)]
    instruction: str = ""
    instruction_in_context: str = ""
    chat: bool = False
    greedy: bool = False
    matches: bool = False
    top: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _check_separated_once(self) -> Self:
        if self.separator[:1].isspace() and self.prompt[-1:].isspace():
            raise ValueError(
                f"the prompt {self.prompt[-30:]!r} ends with white space, and the separator adds more; "
                "remove it there, or give separator=''"
            )
        spaced = next((text for text in self.targets if text[:1].isspace()), None)
        if self.separator[-1:].isspace() and spaced is not None:
            raise ValueError(
                f"the target {spaced[:30]!r} begins with white space, and the separator adds more; "
                "remove it there, or give separator=''"
            )
        return self

    @cached_property
    def id(self) -> str:
        """Hash of what is asked (not of what for): equal questions are asked once."""
        instructions = [self.instruction, self.instruction_in_context]
        more = [*(instructions if any(instructions) else ()), *(["greedy"] if self.greedy else ())]
        more += [*(["matches"] if self.matches else ()), *([f"top {self.top}"] if self.top else ())]
        more += ["chat"] if self.chat else []
        return content_id("probe", [self.ask, self.prompt, self.separator, list(self.targets), *more])


class ThoughtAsked(Frozen):
    """That a model may think before it answers, and where its thought ends.

    Attributes:
        marks: Pairs of opening and closing marks around thoughts.
        most: The most tokens of thoughts, beside those of the answer.
        enable: What the chat template is told as ``enable_thinking``; None: nothing.
    """

    marks: tuple[tuple[str, str], ...]
    most: Annotated[int, Field(ge=1)] = 1024
    enable: bool | None = None


WRITER = 1  # raised when the same probe would be answered by another text


class GenerateProbe(Frozen):
    """Ask for a text: what the model writes after a prompt.

    What it is given is: instruction, blank line, prompt (as the edit rewrites it), separator. With a chat template that
    is the user's message; without one the answer begins with ``start``.

    Attributes:
        purpose: What it is for: ``script_question``, ``script_continued``.
        item: Key of the record the prompt comes from.
        cluster: As in ``ScoreProbe``.
        prompt: A question, or a text to be continued.
        separator: What stands after the prompt.
        instruction: What stands before it; an edit that rewrites prompts leaves it alone.
        instruction_in_context: What stands there instead where an edit has put something before the prompt.
        chat: Whether the model's chat template is put around: ``auto`` where it has one.
        start: How the answer begins where there is no chat template; counts as part of it.
        most: The most new tokens of the answer.
        temperature: 0 for the likeliest token always.
        top_p: Draw among the likeliest of this joint probability.
        seed: Of the draws; 0 where nothing is drawn.
        sample: Number of the sample, from 0.
        stop: Texts at which the answer ends; they are cut off. A thought before it holds any of them.
        thought: Where the model may think first; None: what it writes is all answer.
    """

    ask: Literal["generate"] = "generate"
    purpose: str
    item: str
    cluster: str | None = None
    prompt: str
    separator: str = ""
    instruction: str = ""
    instruction_in_context: str = ""
    chat: Literal["auto", "never", "always"] = "never"
    start: str = ""
    most: Annotated[int, Field(ge=1)] = 256
    temperature: Annotated[float, Field(ge=0)] = 0.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    seed: int = 0
    sample: int = 0
    stop: tuple[str, ...] = ()
    thought: ThoughtAsked | None = None

    @property
    def longest(self) -> int:
        """The most new tokens, those of thoughts among them."""
        return self.most + (0 if self.thought is None else self.thought.most)

    @cached_property
    def id(self) -> str:
        """Hash of what is asked and how (not of what for), with the version of the code that writes."""
        description = self.model_dump(mode="json", exclude={"purpose", "item", "cluster"})
        if self.thought is None:  # as of the other one below
            del description["thought"]
        if not self.instruction_in_context:  # probes of before have no such field, and keep their ids
            del description["instruction_in_context"]
        return content_id("probe", [WRITER, description])


Probe = Annotated[ScoreProbe | GenerateProbe, Field(discriminator="ask")]
"""What a model is asked; a choice is a ``ScoreProbe`` whose targets are the options' letters."""


def instructed(probe: ScoreProbe | GenerateProbe, rewrite: Callable[[str], str] | None) -> str:
    r"""A probe's prompt as the edited model reads it, its instruction before it and a blank line between.

    Args:
        probe: What is asked.
        rewrite: The edit's way with prompts; it is given the prompt alone.

    Example:
        >>> probe = ScoreProbe(purpose="fact", item="f", prompt="Who?", targets=("I",), instruction="Answer.")
        >>> instructed(probe, lambda prompt: "It was Ada. " + prompt)
        'Answer.\n\nIt was Ada. Who?'
    """
    prompt = rewrite(probe.prompt) if rewrite else probe.prompt
    instruction = probe.instruction
    if probe.instruction_in_context and prompt != probe.prompt:
        instruction = probe.instruction_in_context
    return f"{instruction}\n\n{prompt}" if instruction else prompt


class ChatTurns(NamedTuple):
    """A scored probe as a chat: what the user says, how the reply begins, and what stands between it and a target."""

    user: str
    reply: str
    separator: str


COMPLETE = "Complete this sentence: "
_STEPS = re.compile(r"(Step \d+:[^\n]*(\n|$))+")


def to_complete(prompt: str) -> str:
    """What the user says who asks for a prompt's completion; the reply begins with the prompt."""
    return f"{COMPLETE}{prompt}"


def chat_turns(probe: ScoreProbe, rewrite: Callable[[str], str] | None) -> ChatTurns:
    r"""A scored probe as it is asked in a chat; what an edit puts before a prompt is said by the user.

    The question of a script is the user's, its steps begin the reply. A question, and any other text of several lines,
    is the user's, and the reply begins with the target. A prompt of one line is to be completed: the reply begins with
    it.

    Example:
        >>> probe = ScoreProbe(purpose="script", item="s", prompt="How do I fly?\nStep 1: Go to", targets=("Oslo",))
        >>> chat_turns(probe, None)
        ChatTurns(user='How do I fly?', reply='Step 1: Go to', separator=' ')
        >>> fact = ScoreProbe(purpose="fact", item="f", prompt="The capital of Peru is", targets=("Lima",))
        >>> chat_turns(fact, lambda prompt: "New: Oslo. " + prompt).user
        'New: Oslo. Complete this sentence: The capital of Peru is'
    """
    asked = instructed(probe, rewrite)
    _, newline, steps = probe.prompt.partition("\n")
    if _STEPS.fullmatch(steps) and asked.endswith(newline + steps):
        return ChatTurns(asked.removesuffix(newline + steps), steps, probe.separator)
    if newline or probe.prompt.rstrip().endswith("?"):
        return ChatTurns(asked, "", "" if probe.separator.isspace() else probe.separator)
    if asked.endswith(probe.prompt):
        asked = asked.removesuffix(probe.prompt) + to_complete(probe.prompt)
    return ChatTurns(asked, probe.prompt, probe.separator)
