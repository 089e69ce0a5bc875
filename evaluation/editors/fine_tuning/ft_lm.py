"""Fine-tuning on the edit in words, as a language model is trained (ELKEN §4.1: its only change of weights)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import torch
from pydantic import Field
from typing_extensions import override

from evaluation.editors.fine_tuning.trained_weights import Training, WeightScope, WeightTraining
from evaluation.editors.in_context.retrieval import statement
from evaluation.editors.target_texts import TargetBatch, TargetText
from evaluation.models.language_model import LM
from schemas.cases import EditRequest
from schemas.core.errors import UserError


class LanguageModelFineTuning(WeightTraining):
    """AdamW on the requests' texts, every token predicted from those before it; all requests of an edit together.

    Published: all weights, 3 epochs, rate 3e-5, batch 16, texts joined into blocks of 1,024 tokens. Few events fill few
    blocks, so that means few steps (887 events: about 15 blocks, one step an epoch); here each text is a row of its
    own unless ``pack`` says otherwise, and the notes tell the steps.
    """

    name: ClassVar[str] = "ft_lm"
    takes: ClassVar[tuple[str, ...]] = ("fact", "event", "document")
    about: ClassVar[str] = "fine-tuning of all weights, blocks or MLPs on the edit in words, as a language model"
    costs: ClassVar[str] = "forward and backward passes over texts; about five times the memory of the trained weights"

    class Params(WeightScope):
        """Options of fine-tuning on texts: which weights, and how.

        Attributes:
            epochs: Passes over the texts.
            lr: AdamW's learning rate, constant; no weight decay.
            batch: Rows a step.
            pack: Tokens of a row that texts are joined into; None: a row a text.
            seed: Of the order of rows.
            stop_below: Loss of a step (nats a token) below which it makes no update and training ends; 0: never.
                Published for documents: 0.1, and 0.005 in the released settings.
        """

        epochs: int = Field(default=3, ge=1)
        lr: float = Field(default=3e-5, gt=0)
        batch: int = Field(default=16, ge=1)
        pack: int | None = Field(default=None, ge=8)
        seed: int = 0
        stop_below: float = Field(default=0.0, ge=0)

    params: Params

    @override
    def training(self, requests: Sequence[EditRequest]) -> Training:
        texts = tuple(map(statement, requests))
        cut = self._cut.note(texts) if self.params.pack is None else {}
        return partial(_train, texts=texts, params=self.params, cut=cut)


def _train(
    lm: LM,
    weights: Sequence[torch.nn.Parameter],
    *,
    texts: Sequence[str],
    params: LanguageModelFineTuning.Params,
    cut: Mapping[str, int],
) -> dict[str, Any]:
    """Train in place; what is told of it."""
    rows = token_rows(lm, texts, pack=params.pack)
    if not rows:
        raise UserError("the text has no token that follows another: nothing to learn", where=f"{texts[0][:40]!r}")
    optimiser = torch.optim.AdamW(weights, lr=params.lr, weight_decay=0.0)
    draws = torch.Generator().manual_seed(params.seed)
    steps, loss = 0, float("nan")
    for _ in range(params.epochs):
        order = torch.randperm(len(rows), generator=draws).tolist()
        losses: list[float] = []  # of every row's step
        for start in range(0, len(order), params.batch):
            batch = [rows[n] for n in order[start : start + params.batch]]
            with torch.enable_grad():
                texts_of_step = TargetBatch(lm, [TargetText.shifted(row, 1) for row in batch])
                batch_loss = -texts_of_step.log_probs().gather(1, texts_of_step.goals[:, None]).mean()
                torch.autograd.backward(batch_loss)
            losses += [float(batch_loss.detach())] * len(batch)
            if losses[-1] < params.stop_below:
                break
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            steps += 1
        loss = sum(losses) / len(losses)
        if losses[-1] < params.stop_below:
            break
    return {"loss": loss, "steps": steps, "rows": len(rows), "tokens": sum(map(len, rows)), **cut}


def token_rows(lm: LM, texts: Sequence[str], *, pack: int | None = None) -> list[tuple[int, ...]]:
    """Texts as rows of tokens, each with an end token; cut where the model cannot read on.

    Args:
        lm: Its tokenizer and the most that it reads.
        texts: What to read.
        pack: Join all texts and cut them into rows of so many tokens; a rest shorter than 2 is dropped.

    Raises:
        UserError: rows longer than the model reads.
    """
    if pack is not None and lm.limit and pack > lm.limit:
        raise UserError(
            f"the model reads {lm.limit} tokens at once", where="ft_lm.params.pack", fix="set a smaller one"
        )
    end = () if lm.tokenizer.eos_token_id is None else (int(lm.tokenizer.eos_token_id),)
    rows = [(*ids, *end) for ids in (lm.token_ids(text) for text in texts)]
    if pack is not None:
        tokens = [token for row in rows for token in row]
        rows = [tuple(tokens[n : n + pack]) for n in range(0, len(tokens), pack)]
    return [row[: lm.limit] for row in rows if len(row) > 1]
