"""Questions that a model answers because it was asked first, for tests of specificity sets."""

from __future__ import annotations

import torch

from curation.shipped.from_facts import PoolQuestion
from evaluation.models.language_model import LM
from evaluation.runs.specificity_building import PROMPTS, ZeroShotPrompt
from tests.support.tiny import make

PLACES = ("Peru", "Norway", "France", "Quito", "Lima", "Oslo", "Paris", "Madrid", "Rome", "the north")


def near_sighted(factor: float = 0.5) -> LM:
    """A tiny random model that looks back little: prompts that end alike are often gone on with alike."""
    lm = make("gpt2")
    with torch.no_grad():
        lm.model.transformer.wpe.weight.mul_(factor)
        for block in lm.model.transformer.h:
            block.attn.c_proj.weight.mul_(factor)
    lm.name, lm.revision = f"near-{factor}", f"near-{factor}"
    return lm


def prompt_ids(lm: LM, question: PoolQuestion, prompt: ZeroShotPrompt, answer: str = "") -> list[int]:
    """A cloze's tokens in a prompt, by hand: its text before the blank begins the answer, without a space."""
    before = f"{prompt.instruction}\n\n" if prompt.instruction else ""
    lead = question.query.removesuffix("___")
    ids: list[int] = lm.tokenizer(f"{before}{prompt.question} {question.query}\n{prompt.answer} {lead}{answer}")[
        "input_ids"
    ]
    return ids


def next_token(lm: LM, ids: list[int]) -> int:
    """The most probable next token, the whole text read anew."""
    with torch.no_grad():
        return int(lm.model(torch.tensor([ids])).logits[0, -1].argmax())


def begins_with(lm: LM, question: PoolQuestion, prompt: ZeroShotPrompt, answer: str) -> bool:
    """The slow reference: whether greedy writing begins with an answer, token by token."""
    ids, whole = prompt_ids(lm, question, prompt), prompt_ids(lm, question, prompt, answer)
    return whole[: len(ids)] == ids and all(next_token(lm, whole[:n]) == whole[n] for n in range(len(ids), len(whole)))


def asked_first(lm: LM) -> list[PoolQuestion]:
    """Clozes whose second answer is what the model writes under the first, the second or the third prompt."""
    questions = []
    for n, place in enumerate(PLACES * 3):
        cloze = PoolQuestion(f"q{n}", f"{place} {n}-___", ())
        text = lm.tokenizer.decode([next_token(lm, prompt_ids(lm, cloze, PROMPTS[n % 3]))]).strip()
        if text.isalpha():
            questions.append(cloze._replace(answers=("Nowhere", text)))
    return questions
