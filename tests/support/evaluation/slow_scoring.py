"""Probes scored one sequence at a time."""

from __future__ import annotations

import torch

from evaluation.models.language_model import LM
from schemas.probes import ScoreProbe


def probe(prompt: str, *targets: str, separator: str = " ") -> ScoreProbe:
    return ScoreProbe(purpose="fact", item="i", prompt=prompt, targets=targets, separator=separator)


PROBES = [
    probe("The capital of Peru is", "Oslo", "Lima"),
    probe("The capital of Peru is", "São Tomé and Príncipe", "Lima"),
    probe("Norway is a kingdom. Step 1: Book a flight. Step 2: Fly to", "Oslo", "Paris", "the north of the north"),
    probe("She said", 'Lima"', "Oslo", separator=' "'),
    probe("Step 2: Fly to Lima", "Peru", "Norway", separator=" ("),
    probe("Step 1:", "Lima", "Oslo", separator="\n"),
    probe("A city is", "Quito"),
    probe("The head", "quarters", "line", separator=""),
]


@torch.no_grad()
def slow(lm: LM, asked: ScoreProbe) -> list[tuple[float, int]]:
    """Every target as its own unpadded sequence, whole logits, one token after the other."""
    out = []
    for target in asked.targets:
        text = asked.prompt + asked.separator + target
        enc = lm.tokenizer(text, return_offsets_mapping=True)
        ids, begin = enc["input_ids"], len(text) - len(target)
        first = next(i for i, (_, end) in enumerate(enc["offset_mapping"]) if end > begin)
        logits = lm.model(input_ids=torch.tensor([ids])).logits[0].double()
        total = sum(float(logits[i - 1].log_softmax(-1)[ids[i]]) for i in range(first, len(ids)))
        out.append((total, len(ids) - first))
    return out
