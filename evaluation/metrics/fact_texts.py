"""What the edited model writes after fact prompts, and what it would write under teacher forcing (as EasyEdit)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple

from typing_extensions import override

from evaluation.metrics.base import (
    Metric,
    Normalisation,
    item_with_value,
    item_without_value,
    row,
    target_values,
)
from evaluation.metrics.generation import Generation
from evaluation.metrics.script_parser import Named, has_repetition, names
from evaluation.metrics.text_level import WrittenMetric, objects, sampling_of
from evaluation.metrics.token_level import NS
from schemas.answers import Answer, GeneratedText, ItemScore
from schemas.cases import Case
from schemas.facts import Entity, Object
from schemas.probes import GenerateProbe, ScoreProbe
from schemas.text.mentions import find

Place = Literal["fact", "paraphrase", "neighbour"]
PLACES: tuple[Place, ...] = ("fact", "paraphrase", "neighbour")
WRITTEN = "_written"
"""Ends the purpose of a probe that asks for a text, so that seeds of different prompts differ."""


GO_ON_IN_WORDS = (
    "The sentence below was cut off. Go on exactly where it stops: write what completes it, in a few words."
)
"""What stands before a prompt in a message to a model that thinks in messages only."""


class FactPrompt(NamedTuple):
    """One prompt: its text, the record that it comes from, its neighbour fact (None: it has none)."""

    text: str
    item: str
    cluster: str | None = None


def fact_prompts(case: Case, place: Place) -> list[FactPrompt]:
    """The fact prompt, its paraphrases, or the neighbour prompts of NS; equal prompts once."""
    fact = case.fact
    if place == "neighbour":
        prompts = [FactPrompt(p.prompt, p.item, p.cluster) for p in NS().probes(case)]
    else:
        texts = [fact.fact_prompt] if place == "fact" else fact.paraphrases
        prompts = [FactPrompt(text, fact.key) for text in texts]
    return list({p.text: p for p in reversed(prompts)}.values())[::-1]


def wanted_and_other(case: Case, place: Place) -> tuple[Object, Object]:
    """The object that should be named there, and the other one of the edit."""
    pair = objects(case)
    return (pair.old, pair.new) if place == "neighbour" else (pair.new, pair.old)


def argmax_probe(case: Case, prompt: FactPrompt, place: Place) -> ScoreProbe:
    """Which tokens of the wanted object are the most probable ones, each after the object's own tokens before it."""
    return ScoreProbe(
        purpose=place,
        item=prompt.item,
        cluster=prompt.cluster,
        prompt=prompt.text,
        targets=(wanted_and_other(case, place)[0].text,),
        greedy=True,
        matches=True,
    )


def text_probe(case: Case, prompt: FactPrompt, place: Place, generation: Generation) -> GenerateProbe:
    """What the model writes after a prompt: not in a chat template, as ES, PS and NS are scored without one.

    It stops where the model ends it, at the stop texts of the configuration, or after ``step_tokens`` tokens: not at a
    line's end, as some models begin with an empty line. Where the model shall think everywhere (``ThoughtChoice``), the
    template is put around, with an instruction to go on.
    """
    purpose = f"{place}{WRITTEN}"
    chat = generation.choice.chat_everywhere
    return GenerateProbe(
        purpose=purpose,
        item=prompt.item,
        cluster=prompt.cluster,
        prompt=prompt.text,
        instruction=GO_ON_IN_WORDS if chat else "",
        chat="always" if chat else "never",
        most=generation.choice.step_tokens,
        stop=generation.choice.stop,
        thought=generation.choice.thought_asked,
        **sampling_of(generation, case.key, purpose, f"{prompt.item}\n{prompt.text}"),
    )


_AROUND = " \t.,;:!?\"'()[]*_\u2018\u2019\u201c\u201d"
"""Signs that may stand around an object that is the whole answer."""


class AnswerLine(NamedTuple):
    """A written answer as read.

    Attributes:
        line: Its first line that is not empty; later lines are about something else (base models go on for ever).
        first: The object that the line names first.
        mixed: The line names both objects.
        begins: The line begins with the wanted object; what follows does not count.
        exact: The line is the wanted object and no more; signs around it do not count.
        natural: The model ended the line itself, by an end token or by a new line, not the limit of tokens.
        degenerate: The text repeats itself, or is empty.
    """

    line: str
    first: Named
    mixed: bool
    begins: bool
    exact: bool
    natural: bool
    degenerate: bool


def read_answer(written: GeneratedText, wanted: Entity, other: Entity) -> AnswerLine:
    r"""A text written after a fact prompt; ``first`` is ``new`` for the wanted object, ``old`` for the other one.

    Example:
        >>> from schemas.facts import Object
        >>> told = GeneratedText(text=" Rome.\nThe capital", tokens=4, ended="length")
        >>> answer = read_answer(told, Object(text="Rome"), Object(text="Paris"))
        >>> answer.line, answer.first, answer.exact, answer.natural
        ('Rome.', 'new', True, True)
    """
    text = written.text.lstrip()
    line, more, _ = text.partition("\n")
    line = line.strip()
    named = names(line, wanted, other)
    core = line.strip(_AROUND)
    spans = [m for m in find(core, wanted, beside=[other]) if m.start == 0]
    return AnswerLine(
        line=line,
        first=named.first,
        mixed=named.mixed,
        begins=bool(spans),
        exact=any(m.end == len(core) for m in spans),
        natural=bool(more) or written.ended != "length",
        degenerate=not line or has_repetition(written.text),
    )


class MatchedTokens(Metric):
    """Share of the wanted object's tokens that are the most probable ones, each after the object's own earlier tokens.

    Teacher forcing: a model that gets the first token wrong is still shown it before the second. So a target of several
    tokens can score without ever being written.
    """

    place: ClassVar[Place]

    @override
    def probes(self, case: Case) -> Sequence[ScoreProbe]:
        return [argmax_probe(case, p, self.place) for p in fact_prompts(case, self.place)]

    def item_of(
        self, case: Case, probe: ScoreProbe, after: Answer | None, before: Answer | None, normalisation: Normalisation
    ) -> ItemScore:
        """Matched tokens over tokens; unscored where these were not read. The normalisation changes nothing."""
        values = target_values(probe, after, "mean")
        if isinstance(values, str) or after is None:
            return item_without_value(probe, str(values))
        target = after.targets[0]
        if target.matched is None:
            return item_without_value(probe, "the answer does not say which tokens are the most probable ones")
        return item_with_value(probe, target.matched / target.tokens, after)


ESArgmax = row(
    MatchedTokens,
    name="es_argmax",
    title="ES-argmax",
    about="Efficacy by argmax under teacher forcing: share of the new object's tokens that are the most probable ones",
    place="fact",
)


PSArgmax = row(
    MatchedTokens,
    name="ps_argmax",
    title="PS-argmax",
    about="The same after paraphrases of the fact prompt",
    place="paraphrase",
)


NSArgmax = row(
    MatchedTokens,
    name="ns_argmax",
    title="NS-argmax",
    about="The same of the old object, after prompts about other subjects that have it",
    place="neighbour",
)


class WrittenFact(WrittenMetric):
    """Continued from plain prompts, is the wanted object the first of the two that the answer's line names?

    Exact answers, answers that name both objects, degenerate ones and natural stops are counted apart by
    ``evaluation.analysis.written_facts``.
    """

    place: ClassVar[Place]

    @override
    def probes(self, case: Case) -> Sequence[GenerateProbe]:
        return [text_probe(case, p, self.place, self.generation) for p in fact_prompts(case, self.place)]

    def value(self, case: Case, probe: GenerateProbe, written: GeneratedText) -> float:
        """1 where the wanted object is named first; an answer that names neither is no success."""
        return float(read_answer(written, *wanted_and_other(case, self.place)).first == "new")


ESGen = row(
    WrittenFact,
    name="es_gen",
    title="ES-gen",
    about="Efficacy, written: continued from the fact prompt, the answer names the new object first",
    place="fact",
)


PSGen = row(
    WrittenFact,
    name="ps_gen",
    title="PS-gen",
    about="Paraphrase Success, written: continued from paraphrases, the new object is named first",
    place="paraphrase",
)


NSGen = row(
    WrittenFact,
    name="ns_gen",
    title="NS-gen",
    about="Neighbourhood Success, written: continued about other subjects with the old object, it is named first",
    place="neighbour",
)
