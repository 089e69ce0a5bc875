"""Where an edit should move nothing: neighbour prompts, their scripts, and texts about nothing that is edited."""

from __future__ import annotations

from typing import Literal

from evaluation.metrics.distribution.next_tokens import TOP
from evaluation.metrics.token_level.ns import NS
from evaluation.metrics.token_level.s_ns import SNS
from schemas.cases import Case
from schemas.probes import ScoreProbe

Region = Literal["fact", "neighbour", "script_neighbour", "unrelated"]

UNRELATED = (
    ("To boil an egg, first fill a pot with", "water"),
    ("The days of the week are Monday, Tuesday,", "Wednesday"),
    ("She opened the umbrella because it had started to", "rain"),
    ("How to repair a flat tyre?\nStep 1: Loosen the nuts\nStep 2: Lift the", "car"),
    ("How to plant a tree?\nStep 1: Dig a hole\nStep 2: Fill the hole with", "soil"),
    ("Two plus two is", "four"),
    ("Please close the door when you", "leave"),
    ("He was so tired that he fell asleep on the", "sofa"),
)
"""Prompts written by us with the word that comes next, about nobody and no place; none of them can be edited."""


def distribution_probes(case: Case, region: Region) -> list[ScoreProbe]:
    """The prompts of a region, each asked for the most probable next tokens beside its object."""
    if region == "unrelated":
        return [
            ScoreProbe(purpose=region, item=f"unrelated/{n}", prompt=prompt, targets=(word,), top=TOP)
            for n, (prompt, word) in enumerate(UNRELATED)
        ]
    if region == "fact":
        fact = case.fact
        old, prompt = fact.old.text, fact.fact_prompt
        return [ScoreProbe(purpose=region, item=fact.key, prompt=prompt, targets=(old,), top=TOP)]
    probes = NS().probes(case) if region == "neighbour" else SNS().probes(case)
    return [ScoreProbe.model_validate({**p.model_dump(), "targets": p.targets[1:], "top": TOP}) for p in probes]
