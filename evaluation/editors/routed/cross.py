"""The cross scorer: an encoder reads question and event together; it looks at the nearest events only (two stages)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from typing_extensions import override

from evaluation.editors.in_context.retrieval import Vectors
from evaluation.editors.routed.base import Route, Router, best_route
from evaluation.editors.routed.pairs import EventMemory
from evaluation.metrics.event_questions import question_of

MAX_TOKENS = 160  # of question and event together, as published
_PAIRS = 64  # of a forward pass without gradients


class CrossScorer(nn.Module):
    """An encoder over "question [SEP] event", the mean over its tokens, and one linear layer.

    The output is the log-odds that the question is in the event's scope (ELKEN's scope classifier, there an ELECTRA).

    Args:
        folder: Encoder and tokenizer as transformers saves them; None: all-MiniLM-L6-v2, as installed.

    Raises:
        ModelError: the model package is not installed.
        MissingPackage: transformers is not installed.
    """

    def __init__(self, folder: Path | None = None) -> None:
        from curation.similarity.embeddings import Embedder

        super().__init__()
        parts = Embedder(folder)  # one way to open an encoder, with its refusals
        self.tokenizer: Any = parts.tokenizer
        self.encoder: nn.Module = parts.model
        self.out = nn.Linear(int(parts.model.config.hidden_size), 1)

    def forward(self, questions: Sequence[str], events: Sequence[str]) -> Tensor:
        """Log-odds of pairs, shape (pairs,); long pairs are cut at ``MAX_TOKENS``, the longer text first."""
        tokens = self.tokenizer(
            list(questions), list(events), padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt"
        ).to(self.out.weight.device)
        hidden = self.encoder(**tokens).last_hidden_state
        mask = tokens["attention_mask"][..., None].to(hidden.dtype)
        scores: Tensor = self.out((hidden * mask).sum(1) / mask.sum(1))[:, 0]
        return scores

    @torch.no_grad()
    def scores(self, question: str, events: Sequence[str]) -> Tensor:
        """Log-odds of one question beside some events, shape (events,), on the CPU."""
        starts = range(0, len(events), _PAIRS)
        parts = [self([question] * len(events[s : s + _PAIRS]), events[s : s + _PAIRS]).float().cpu() for s in starts]
        return torch.cat(parts) if parts else torch.zeros(0)


class CrossRouter(Router):
    """Sends a question to the event that the scorer finds likeliest, where its probability reaches the threshold.

    Args:
        scorer: The trained scorer.
        texts: The memory.
        vectors: Finds the nearest events, together with their words.
        shortlist: Events that the scorer looks at.
        threshold: The least probability (sigmoid of the log-odds).
    """

    def __init__(
        self, scorer: CrossScorer, texts: Sequence[str], vectors: Vectors, *, shortlist: int, threshold: float
    ) -> None:
        self._scorer, self._texts = scorer, list(texts)
        self._memory, self._shortlist, self._threshold = EventMemory(texts, vectors), shortlist, threshold

    @override
    def expect(self, prompts: Sequence[str]) -> None:
        self._memory.expect([question_of(prompt) for prompt in prompts])

    def route(self, prompt: str) -> Route:
        """Where a prompt goes; the score is the probability of the likeliest event."""
        question = question_of(prompt)
        events = self._memory.nearest(question, size=self._shortlist)
        scores = self._scorer.scores(question, [self._texts[i] for i in events]).sigmoid().numpy()
        best = best_route(scores, threshold=self._threshold)
        return best if best.item is None else Route(events[best.item], best.score)
