"""Fine-tuning on the edit in words, as a language model is trained (ELKEN §4.1: the only method that changes weights).

Training happens when the edit is put on the model, and the weights come back from a copy when it is taken off: one
edit is in memory at a time, however many a run makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from curation.files.artifact_cache import Cache
from evaluation.editors.base import DIVERGENCE_RATIO, Editor, asked
from evaluation.editors.in_context.retrieval import statement
from evaluation.edits.edit import Edit
from evaluation.models.language_model import LM
from schemas.cases import EditRequest
from schemas.core.config import Options
from schemas.core.errors import ModelError, UserError


class LanguageModelFineTuning(Editor):
    """AdamW on the requests' texts, every token predicted from those before it; all requests of an edit together.

    Published: all weights, 3 epochs, rate 3e-5, batch 16, texts joined into blocks of 1,024 tokens. Few events fill few
    blocks, so that means few steps (887 events: about 15 blocks, one step an epoch); here each text is a row of its
    own unless ``pack`` says otherwise, and the notes tell the steps.
    """

    name: ClassVar[str] = "ft_lm"
    version: ClassVar[int] = 1
    takes: ClassVar[tuple[str, ...]] = ("fact", "event", "document")
    about: ClassVar[str] = "fine-tuning of all weights, blocks or MLPs on the edit in words, as a language model"
    costs: ClassVar[str] = "forward and backward passes over texts; about five times the memory of the trained weights"

    class Params(Options):
        """Options of fine-tuning on texts.

        Attributes:
            scope: What is trained: ``all`` weights, whole ``blocks``, or the output projections of ``mlps``.
            layers: Which blocks, from 0, where not all are trained; empty: all of them.
            epochs: Passes over the texts. ``lr``: AdamW's learning rate, constant; no weight decay.
            batch: Rows a step.
            pack: Tokens of a row that texts are joined into; None: a row a text.
            seed: Of the order of rows.
        """

        scope: Literal["all", "blocks", "mlps"] = "all"
        layers: tuple[Annotated[int, Field(ge=0)], ...] = ()
        epochs: int = Field(default=3, ge=1)
        lr: float = Field(default=3e-5, gt=0)
        batch: int = Field(default=16, ge=1)
        pack: int | None = Field(default=None, ge=8)
        seed: int = 0

    params: Params

    def __init__(self, params: Any, lm: LM, cache: Cache) -> None:
        super().__init__(params, lm, cache)
        if params.scope == "all" and params.layers:
            raise UserError(
                "scope 'all' trains every weight, so it takes no layers",
                where="options of 'ft_lm'",
                fix='set scope = "blocks" or "mlps"',
            )

    @classmethod
    def layers_of(cls, params: Params) -> tuple[int, ...]:
        """The blocks that are named."""
        return tuple(sorted(set(params.layers)))

    @property
    def bytes_an_edit(self) -> int:
        """Nothing until it is put on the model."""
        return 0

    def edit(self, requests: Sequence[EditRequest]) -> Edit:
        """An edit that trains when it is put on.

        Raises:
            ModelError: weights so narrow that the changes would be rounded away.
        """
        if self.lm.dtype != torch.float32:
            raise ModelError(
                f"'{self.name}' trains the weights themselves, and changes of this size are rounded away in "
                f"{str(self.lm.dtype).removeprefix('torch.')}",
                where=self.lm.name,
                fix='set dtype = "float32"',
            )
        return _TrainedWhenPutOn(tuple(statement(request) for request in asked(requests)), self.params)

    def edit_each(self, requests: Sequence[EditRequest]) -> list[Edit]:
        """Independent edits, each trained alone when it is put on."""
        return [self.edit([request]) for request in requests]


@dataclass(frozen=True)
class _TrainedWhenPutOn:
    """An edit whose weights exist only while it is on; ``notes`` are complete once it has been."""

    texts: tuple[str, ...]
    params: LanguageModelFineTuning.Params
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def deltas(self) -> None:
        """None: it shares no batch."""
        return None

    def rewrite(self, prompt: str) -> str:
        """The prompt itself."""
        return prompt

    @contextmanager
    def on(self, lm: LM) -> Iterator[LM]:
        """Train, lend the model, and put every trained weight back bit for bit."""
        trained = _trained_weights(lm, self.params)
        saved = [weight.detach().clone() for weight in trained]
        try:
            self.notes.update(_train(lm, trained, saved, self.texts, self.params))
            yield lm
        finally:
            for weight in trained:
                weight.requires_grad_(False)
                weight.grad = None
            _put_back(trained, saved)


def _put_back(weights: Sequence[Tensor], saved: Sequence[Tensor]) -> None:
    """Copy all weights back; an interrupt in the middle is raised when that is done."""
    waiting, interrupt = list(zip(weights, saved, strict=True)), None
    while waiting:
        try:
            with torch.no_grad():
                while waiting:
                    weight, copy = waiting[-1]
                    weight.copy_(copy)
                    waiting.pop()  # only now: a copy that was cut short is made again
        except (KeyboardInterrupt, SystemExit) as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt


def _trained_weights(lm: LM, params: LanguageModelFineTuning.Params) -> list[torch.nn.Parameter]:
    """The parameters that are trained, each once (the head may share the embedding's)."""
    if params.scope == "all":
        return list(lm.model.parameters())
    layers = params.layers or range(lm.layout.depth)
    modules = [lm.block(n) if params.scope == "blocks" else lm.projection(n) for n in layers]
    return [p for module in modules for p in module.parameters()]


def _train(
    lm: LM,
    weights: Sequence[torch.nn.Parameter],
    before: Sequence[Tensor],
    texts: Sequence[str],
    params: LanguageModelFineTuning.Params,
) -> dict[str, Any]:
    """Train in place; what is told of it."""
    rows = token_rows(lm, texts, pack=params.pack)
    for weight in weights:
        weight.requires_grad_(True)
    optimiser = torch.optim.AdamW(weights, lr=params.lr, weight_decay=0.0)
    draws = torch.Generator().manual_seed(params.seed)
    steps, loss = 0, float("nan")
    for _ in range(params.epochs):
        order = torch.randperm(len(rows), generator=draws).tolist()
        losses = []
        for start in range(0, len(order), params.batch):
            batch = [rows[n] for n in order[start : start + params.batch]]
            with torch.enable_grad():
                found = _loss(lm, batch)
                torch.autograd.backward(found)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            losses.append(float(found.detach()) * len(batch))
            steps += 1
        loss = sum(losses) / len(rows)
    for weight in weights:
        weight.requires_grad_(False)
    with torch.no_grad():
        sizes = [(float((w - b).norm()), float(b.norm())) for w, b in zip(weights, before, strict=True)]
    ratio = max((change / size for change, size in sizes if size), default=0.0)
    told: dict[str, Any] = {"loss": loss, "steps": steps, "rows": len(rows), "tokens": sum(map(len, rows))}
    return {**told, "norm_ratio": ratio, "blow_up": not ratio <= DIVERGENCE_RATIO}


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
    rows = [(*ids, *end) for ids in lm.encodings.texts(list(texts))]
    if pack is not None:
        joined = [token for row in rows for token in row]
        rows = [tuple(joined[n : n + pack]) for n in range(0, len(joined), pack)]
    return [row[: lm.limit] for row in rows if len(row) > 1]


def _loss(lm: LM, rows: Sequence[Sequence[int]]) -> Tensor:
    """Mean negative log-probability of every token that follows another."""
    ids, mask = lm.pad(rows)
    logits = lm.model(input_ids=ids, attention_mask=mask, use_cache=False).logits[:, :-1].float()
    goals = ids[:, 1:].to(logits.device).masked_fill(mask[:, 1:].to(logits.device) == 0, -100)
    return torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), goals.reshape(-1))
