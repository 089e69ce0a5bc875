"""Probes scored one sequence at a time."""

from __future__ import annotations

import math
from typing import Any

import torch

from evaluation.models.language_model import LM
from schemas.answers import Answer, NextTokens, TargetScore
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


def asking(asked: ScoreProbe, *, greedy: bool) -> ScoreProbe:
    return ScoreProbe.model_validate({**asked.model_dump(), "greedy": greedy})


def greedy_probe(lm: LM) -> ScoreProbe:
    """What the model writes after a text, its beginning, and that with another ending."""
    for prompt in (f"The capital of Peru is{' so' * n}" for n in range(40)):
        start = lm.tokenizer(prompt)["input_ids"]
        ids = list(start)
        for _ in range(2):
            logits = lm.model(input_ids=torch.tensor([ids])).logits[0, -1]
            ids.append(int(logits.argmax()))
        text = [lm.tokenizer.decode(ids[len(start) :][:n]) for n in (2, 1)]
        if [lm.tokenizer(prompt + target)["input_ids"] for target in text] == [ids, ids[:-1]] and all(text):
            return probe(prompt, text[0], text[1], f"{text[1]} no", separator="")
    raise AssertionError("what this model writes is never read as the same tokens")


def slow(lm: LM, asked: ScoreProbe) -> list[tuple[float, int]]:
    """(log-probability, tokens) of every target; see ``slow_answer``."""
    answer = slow_answer(lm, lm.model, asked)
    return [(target.logprob, target.tokens) for target in answer.targets]


@torch.no_grad()
def slow_answer(lm: LM, model: Any, asked: ScoreProbe, prompt: str | None = None) -> Answer:
    """Every target as its own unpadded sequence, whole logits, one token after the other.

    Args:
        lm: Whose tokenizer and whose limit count.
        model: What is asked; the weights may be edited.
        asked: The probe.
        prompt: In place of the probe's own.
    """
    begins, rows, limit = [], [], model.config.max_position_embeddings
    for target in asked.targets:
        text = (asked.prompt if prompt is None else prompt) + asked.separator + target
        enc = lm.tokenizer(text, return_offsets_mapping=True)
        begin = len(text) - len(target)
        begins.append(sum(end <= begin for _, end in enc["offset_mapping"]))
        rows.append(enc["input_ids"])
    over = max(0, max(map(len, rows)) - limit)
    scores, tokens = [], None
    for target, first, ids in zip(asked.targets, begins, rows, strict=True):
        start = 1 if ids[0] in lm.tokenizer.all_special_ids else 0
        ids, first = ids[:start] + ids[start + over :], first - over
        probabilities = model(input_ids=torch.tensor([ids], device=lm.device)).logits[0].double().softmax(-1)
        places = range(first, len(ids))
        total = sum(math.log(probabilities[place - 1, ids[place]]) for place in places)
        greedy = all(int(probabilities[place - 1].argmax()) == ids[place] for place in places)
        expected = greedy if asked.greedy else None
        matched = sum(int(probabilities[place - 1].argmax()) == ids[place] for place in places)
        matched_if = matched if asked.greedy and asked.matches else None
        count = len(ids) - first
        scores.append(TargetScore(text=target, logprob=total, tokens=count, greedy=expected, matched=matched_if))
        if asked.top and len(scores) == 1:
            order = sorted(range(len(probabilities[0])), key=lambda n: -float(probabilities[first - 1, n]))[: asked.top]
            values = [math.log(probabilities[first - 1, n]) for n in order]
            tokens = NextTokens(ids=tuple(order), logprobs=tuple(values))
    return Answer(probe=asked.id, targets=tuple(scores), truncated=over > 0, next_tokens=tokens)
