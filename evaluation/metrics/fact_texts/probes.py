"""Prompts of a fact, asked in three ways: for probabilities of two objects, by argmax, and for a text."""

from __future__ import annotations

from typing import Literal, NamedTuple

from evaluation.metrics.generation import Generation
from evaluation.metrics.text_level.probes import objects, sampling_of
from evaluation.metrics.token_level.ns import NS
from schemas.cases import Case
from schemas.facts import Object
from schemas.probes import GenerateProbe, ScoreProbe

Place = Literal["fact", "paraphrase", "neighbour"]
PLACES: tuple[Place, ...] = ("fact", "paraphrase", "neighbour")
WRITTEN = "_written"
"""Ends the purpose of a probe that asks for a text, so that seeds of different prompts differ."""


GO_ON = "The sentence below was cut off. Go on exactly where it stops: write what completes it, in a few words."
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


def wanted_object(case: Case, place: Place) -> Object:
    """The object that the edited model should name there: the old one at neighbours, else the new one."""
    return case.fact.old if place == "neighbour" else case.fact.new_object


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
        targets=(wanted_object(case, place).text,),
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
        instruction=GO_ON if chat else "",
        chat="always" if chat else "never",
        most=generation.choice.step_tokens,
        stop=generation.choice.stop,
        thought=generation.choice.thought_asked,
        **sampling_of(generation, case.key, purpose, f"{prompt.item}\n{prompt.text}"),
    )
