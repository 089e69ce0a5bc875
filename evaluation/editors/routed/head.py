"""The scope head: a small network over frozen sentence vectors that says how well a question fits an event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from typing_extensions import override

from evaluation.editors.in_context.retrieval import Vectors
from evaluation.editors.routed.base import Route, Router, best_route
from evaluation.editors.routed.pairs import BUCKETS, MEASURES, EventMemory, Pairs
from evaluation.metrics.event_questions import question_of


class PairTensors(NamedTuple):
    """Some questions, each beside the same number of events.

    Attributes:
        question: Shape (questions, dimensions).
        events: Shape (questions, events, dimensions).
        measures: Shape (questions, events, measures).
        there: Whether there is an event at this place, shape (questions, events).
        words: Numbers of each question's words, filled up with ``BUCKETS``, shape (questions, words).
    """

    question: Tensor
    events: Tensor
    measures: Tensor
    there: Tensor
    words: Tensor


class ScopeHead(nn.Module):
    """Two layers over the vectors of event and question, their product and difference, and the measures of the pair.

    The output is a log-odds: against no event at all, whose own is 0. A weight for each word and word pair of the
    question is added to it: what the wording says of the scope, which is the same for all events.

    Args:
        dimensions: Of the encoder's vectors.
        hidden: Width of the layer between.
        dropout: Share of inputs and hidden values left out in training.
    """

    def __init__(self, dimensions: int, hidden: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.dimensions, self.hidden = dimensions, hidden
        self.drop = nn.Dropout(dropout)
        self.first = nn.Linear(4 * dimensions + len(MEASURES), hidden)
        self.second = nn.Linear(hidden, 1)
        self.direct = nn.Linear(len(MEASURES), 1, bias=False)
        self.words = nn.EmbeddingBag(BUCKETS + 1, 1, mode="sum", padding_idx=BUCKETS)
        nn.init.zeros_(self.words.weight)

    def forward(self, pairs: PairTensors) -> Tensor:
        """Log-odds of each pair, shape (questions, events); minus infinity where there is no event."""
        question = pairs.question[:, None, :].expand_as(pairs.events)
        scale = self.dimensions**0.5  # entries of unit vectors are small
        parts = (pairs.events, question, pairs.events * question * scale, (pairs.events - question).abs())
        read = torch.cat([scale * torch.cat(parts, dim=-1), pairs.measures], dim=-1)
        hidden = self.drop(nn.functional.gelu(self.first(self.drop(read))))
        counts = (pairs.words < BUCKETS).sum(dim=1, keepdim=True).clamp(min=1)
        worded = self.words(pairs.words) / counts.to(read.dtype).sqrt()
        scores: Tensor = self.second(hidden)[..., 0] + self.direct(pairs.measures)[..., 0] + worded
        return scores.masked_fill(~pairs.there, float("-inf"))


def stack_questions(pairs: Sequence[Pairs], rows: Tensor) -> PairTensors:
    """Questions with their events as tensors, filled up to the longest list of events.

    Args:
        pairs: The questions.
        rows: Vectors of all events of the memory, on the device where the head computes.
    """
    lengths = torch.tensor([len(one.events) for one in pairs])
    there = torch.arange(int(lengths.max())) < lengths[:, None]
    events = nn.utils.rnn.pad_sequence([torch.from_numpy(one.events) for one in pairs], batch_first=True)
    measures = nn.utils.rnn.pad_sequence([torch.from_numpy(one.measures) for one in pairs], batch_first=True)
    questions = torch.stack([torch.from_numpy(one.question) for one in pairs])
    word_ids = [torch.from_numpy(one.words) for one in pairs]
    words = nn.utils.rnn.pad_sequence(word_ids, batch_first=True, padding_value=BUCKETS)
    return PairTensors(
        questions.to(rows),
        rows[events.to(rows.device)],
        measures.to(rows),
        there.to(rows.device),
        words.to(rows.device),
    )


class HeadRouter(Router):
    """Sends a question to the event that the head finds likeliest, where its probability reaches the threshold.

    Args:
        head: The trained head.
        texts: The memory.
        vectors: The encoder that the head was trained with.
        shortlist: Events that the head looks at, the nearest by meaning and by words.
        threshold: The least probability (sigmoid of the head's log-odds).
        names_apart: Whether the head was trained with a weight for each name in a question.
    """

    def __init__(
        self,
        head: ScopeHead,
        texts: Sequence[str],
        vectors: Vectors,
        *,
        shortlist: int,
        threshold: float,
        names_apart: bool = True,
    ) -> None:
        self._head, self._memory = head, EventMemory(texts, vectors, names_apart=names_apart)
        self._shortlist, self._threshold = shortlist, threshold
        self._rows = torch.from_numpy(self._memory.rows).to(next(head.parameters()).device)

    @override
    def expect(self, prompts: Sequence[str]) -> None:
        self._memory.expect([question_of(prompt) for prompt in prompts])

    @torch.inference_mode()
    def route(self, prompt: str) -> Route:
        """Where a prompt goes; the score is the probability of the likeliest event."""
        pairs = self._memory.pairs(question_of(prompt), size=self._shortlist)
        scores = self._head(stack_questions([pairs], self._rows))[0].sigmoid().cpu().numpy()
        best = best_route(scores, threshold=self._threshold)
        return best if best.item is None else Route(int(pairs.events[best.item]), best.score)
