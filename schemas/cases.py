"""Cases (an edit and its material), probes (what is asked), answers (what the model said), scores."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from schemas.facts import Fact, Neighbour
from schemas.ids import content_id
from schemas.records import Frozen, Key, Record
from schemas.scripts import ScriptPrompt, ScriptQuestion


class CaseNeighbour(Frozen):
    """A neighbour fact inside a case, with its script prompts."""

    link: Neighbour
    fact: Fact
    questions: tuple[ScriptQuestion, ...] = ()
    prompts: tuple[ScriptPrompt, ...] = ()


class Case(Record):
    """One edit with everything that is asked about it; the unit of a split, of resuming and of intervals."""

    kind: ClassVar[str] = "case"
    fact: Fact
    questions: tuple[ScriptQuestion, ...] = ()
    prompts: tuple[ScriptPrompt, ...] = ()
    neighbours: tuple[CaseNeighbour, ...] = ()


class ScoreProbe(Frozen):
    """Ask for log P(target | prompt) of every target.

    Attributes:
        purpose: What it is for: ``fact``, ``paraphrase``, ``neighbour``, ``script``, ``script_neighbour``.
        item: Key of the record the prompt comes from.
        cluster: A second cluster beside the case (the neighbour fact), or None.
        prompt: Text without the separator.
        separator: What stands between prompt and target.
        targets: Texts to score; the order has a meaning that the metric knows.
    """

    ask: Literal["score"] = "score"
    purpose: str
    item: str
    cluster: str | None = None
    prompt: str
    separator: str = " "
    targets: Annotated[tuple[str, ...], Field(min_length=1)]

    @cached_property
    def id(self) -> str:
        """Hash of what is asked (not of what for): equal questions are asked once."""
        return content_id("probe", [self.ask, self.prompt, self.separator, list(self.targets)])


Probe = ScoreProbe  # becomes a union, told apart by ``ask``, when generation and choices come


class TargetScore(Frozen):
    """Log-probability of one target: sum over its tokens (nats), and their number."""

    text: str
    logprob: float
    tokens: int

    def value(self, normalisation: str) -> float:
        """Log-probability, ``mean`` per token (as the published code) or ``sum`` (as the paper's formula)."""
        return self.logprob / self.tokens if normalisation == "mean" else self.logprob


class Answer(Frozen):
    """What the model said to one probe; an error or a truncated prompt is a value, never a zero."""

    probe: str
    targets: tuple[TargetScore, ...] = ()
    truncated: bool = False
    error: str | None = None


class ItemScore(Frozen):
    """One probe's score; ``value`` None means unscored, and ``reason`` says why. ``tie`` marks equal targets."""

    probe: str
    item: str
    value: float | None
    cluster: str | None = None
    tie: bool = False
    reason: str = ""


class CaseScores(Frozen):
    """All scores of one metric on one case."""

    case: Key
    metric: str
    items: tuple[ItemScore, ...]

    @property
    def mean(self) -> float | None:
        """Mean over scored items; None where none is scored."""
        values = [i.value for i in self.items if i.value is not None]
        return sum(values) / len(values) if values else None
