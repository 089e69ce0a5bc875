"""The rows of a value search: a request's prompt in every context template, and the essence prompt of its subject."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from evaluation.editors.locate_edit.parts.context_templates import fill
from evaluation.editors.locate_edit.parts.keys import subject_place
from evaluation.inference.batching import TokenBudget
from evaluation.models.language_model import LM
from evaluation.models.tokens.tokenization import encode_at
from evaluation.models.transfers import send
from schemas.facts import Fact

ESSENCE = "{} is a"  # prompt at whose subject the model's next-token distribution is held (ROME Eq. 4, second term)


class SearchRow(NamedTuple):
    """A prompt of one request: where δ is added, and (place, token) of what is to be predicted.

    ``template`` numbers the context template, -1 for the essence prompt, which has no goals: its ``subject`` is read.
    ``share`` is each goal's part of the request's mean.
    """

    request: int
    template: int
    ids: tuple[int, ...]
    subject: int
    goals: tuple[tuple[int, int], ...]
    share: float


def rows_of(lm: LM, request: int, fact: Fact, templates: Sequence[str]) -> list[SearchRow]:
    """A request's prompt in every template, each with the new object, and the essence prompt."""
    rows = []
    for n, template in enumerate(templates):
        text = lm.encode(fill(template, fact.fact_prompt), fact.new_object.text)
        goals = tuple((i - 1, text.ids[i]) for i in range(text.first, len(text.ids)))
        place = subject_place(lm, fact, template).last
        rows.append(SearchRow(request, n, text.ids[:-1], place, goals, 0.0))
    total = sum(len(row.goals) for row in rows)
    rows = [row._replace(share=1 / total) for row in rows]
    subject = fact.subject.text
    essence = encode_at(lm.tokenizer, ESSENCE.replace("{}", subject), end=len(subject))
    return [*rows, SearchRow(request, -1, essence.ids[: essence.last + 1], essence.last, (), 0.0)]


def groups(rows: list[list[SearchRow]], budget: TokenBudget) -> Iterator[list[SearchRow]]:
    """Requests that are searched for together: about two passes' worth, which bounds the caches they keep."""
    group: list[SearchRow] = []
    cost = 0
    for request_rows in rows:
        more = sum(map(cost_of, request_rows))
        if group and cost + more > 2 * budget.tokens:
            yield group
            group, cost = [], 0
        group, cost = group + request_rows, cost + more
    if group:
        yield group


def cost_of(row: SearchRow) -> int:
    """Tokens that a row runs through the blocks, and half a token for every read of the vocabulary."""
    return len(row.ids) - row.subject + (len(row.goals) + 1) // 2


def essence_reads(rows: Sequence[SearchRow], read_rows: Sequence[int], device: torch.device) -> Tensor:
    """Which reads, given by their rows, are of rows without goals."""
    return send([n for n, row in enumerate(read_rows) if not rows[row].goals], device)
