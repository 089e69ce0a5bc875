"""SIDE (Wang et al. 2024, MULFE §5.3): fine-tuning on a document, its questions taught by the model that reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

import torch
from pydantic import Field, model_validator

from evaluation.editors.fine_tuning.ft_lm import token_rows
from evaluation.editors.fine_tuning.trained_weights import Training, WeightScope, WeightTraining
from evaluation.editors.in_context.retrieval import said_before
from evaluation.editors.target_texts import TargetBatch, TargetText
from evaluation.metrics.generation import DocumentChoice
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from schemas.documents.document import Document
from schemas.documents.simplified import StatedDocument


class InContextDistillation(WeightTraining):
    """AdamW on a weighted sum of three losses, each a mean over its tokens (§5.3).

    Language modelling of the documents; the divergence KL(p_t || p) of the model in training from its teacher at the
    tokens of answers; their negative log-probability. The teacher is the model before this edit with the document in
    context, sharpened against itself without: (1 + λ) log p(. | document, question) - λ log p(. | question),
    normalised, computed once. Questions and answers are the statements of the document (published: ``ner_qg`` with
    questions by a model).
    """

    name: ClassVar[str] = "side"
    takes: ClassVar[tuple[str, ...]] = ("document",)
    about: ClassVar[str] = "fine-tuning on a document and on answers about it, taught by the model that reads it (SIDE)"
    needs: ClassVar[str] = 'statements of the documents: simplify = "ner_qg" or another strategy'
    costs: ClassVar[str] = "10 forward and backward passes over text and questions; five times the weights' memory"

    class Params(WeightScope):
        """Options of SIDE: which weights are trained, and how.

        Attributes:
            steps: The most updates.
            lr: AdamW's learning rate, constant; no weight decay.
            text_weight: Of the documents' loss as a language model (α). 0 leaves a term out.
            soft_weight: Of the divergence from the teacher (β).
            hard_weight: Of the answers' negative log-probability (γ).
            sharpening: λ; 0: the teacher is the model that reads the document.
            stop_below: Weighted sum of the losses below which no update is made and training ends.
            instruction: What stands before the document and the question, as probes are asked.
            batch: Rows a pass; an update is made of all of them, whatever this is.
        """

        steps: int = Field(default=10, ge=1)
        lr: float = Field(default=4e-6, gt=0)
        text_weight: float = Field(default=0.8, ge=0)
        soft_weight: float = Field(default=0.1, ge=0)
        hard_weight: float = Field(default=0.1, ge=0)
        sharpening: float = Field(default=0.6, ge=0)
        stop_below: float = Field(default=0.1, ge=0)
        instruction: str = DocumentChoice().instruction
        batch: int = Field(default=16, ge=1)

        @model_validator(mode="after")
        def _some_term(self) -> InContextDistillation.Params:
            if not self.text_weight + self.soft_weight + self.hard_weight:
                raise ValueError("text_weight, soft_weight and hard_weight are all 0: nothing is left to train on")
            return self

    params: Params

    @classmethod
    def wants_statements(cls, options: Mapping[str, Any]) -> bool:
        """Unless both terms about answers are left out."""
        fields = cls.Params.model_fields
        return any(options.get(name, fields[name].default) for name in ("soft_weight", "hard_weight"))

    def training(self, requests: Sequence[Document | StatedDocument]) -> Training:
        """Training on the requests' texts and questions.

        Raises:
            UserError: a document without statements where its questions count.
        """
        stated = [one if isinstance(one, StatedDocument) else None for one in requests]
        if None in stated and self.wants_statements(self.params.model_dump()):
            raise UserError(
                "'side' with these options learns from statements of its documents, and has none",
                fix='set simplify = "ner_qg" for it, or soft_weight and hard_weight to 0',
            )
        documents = [one.document if isinstance(one, StatedDocument) else one for one in requests]
        cut = self._cut.note([one.text for one in documents]) if self.params.text_weight else {}
        return partial(_train, documents=documents, stated=[one for one in stated if one], params=self.params, cut=cut)


class _Questions(NamedTuple):
    """Questions without (``bare``) and with their document in context (``read``), one to one.

    ``left_out``: how many are too long for the model, or whose answer is other tokens after the document.
    """

    bare: list[TargetText]
    read: list[TargetText]
    left_out: int


def _train(
    lm: LM,
    weights: Sequence[torch.nn.Parameter],
    *,
    documents: Sequence[Document],
    stated: Sequence[StatedDocument],
    params: InContextDistillation.Params,
    cut: Mapping[str, int],
) -> dict[str, Any]:
    """Train in place; what is told of it."""
    p = params
    texts = _text_rows(lm, documents) if p.text_weight else []
    questions = _question_rows(lm, stated, p.instruction) if p.soft_weight or p.hard_weight else _Questions([], [], 0)
    answers = _taught(lm, questions, p) if p.soft_weight else questions.bare
    optimiser = torch.optim.AdamW(weights, lr=p.lr, weight_decay=0.0)
    steps, losses = 0, dict[str, float]()
    while texts or answers:
        losses = _losses(lm, texts, answers, p)
        losses["loss"] = (
            p.text_weight * losses["text"] + p.soft_weight * losses["soft"] + p.hard_weight * losses["hard"]
        )
        if losses["loss"] < p.stop_below:
            break
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        steps += 1
        if steps == p.steps:
            break
    counts = {"questions": len(answers), "questions_left_out": questions.left_out}
    tokens = sum(len(row.ids) for row in (*texts, *answers)) + len(texts)  # the last of a text is not read
    return {**losses, "steps": steps, "tokens": tokens, **counts, **cut}


def _text_rows(lm: LM, documents: Sequence[Document]) -> list[TargetText]:
    rows = token_rows(lm, [document.text for document in documents])
    return [TargetText.shifted(ids, 1) for ids in rows]


def _question_rows(lm: LM, stated: Sequence[StatedDocument], instruction: str) -> _Questions:
    out = _Questions([], [], 0)
    before = f"{instruction}\n\n" if instruction else ""
    for one in stated:
        for fact in one.facts:
            bare = lm.encode(before + fact.filled_prompt, fact.target)
            read = lm.encode(before + said_before(one.document) + fact.filled_prompt, fact.target)
            if bare.target != read.target or (lm.limit and len(read.ids) > lm.limit):
                out = out._replace(left_out=out.left_out + 1)
                continue
            for rows, text in ((out.bare, bare), (out.read, read)):
                rows.append(TargetText.shifted(text.ids, text.first))
    return out


@torch.no_grad()
def _taught(lm: LM, questions: _Questions, p: InContextDistillation.Params) -> list[TargetText]:
    """The questions with what the teacher says at each token of their answers."""
    out: list[TargetText] = []
    for start in range(0, len(questions.bare), p.batch):
        bare, read = (rows[start : start + p.batch] for rows in (questions.bare, questions.read))
        taught = (1 + p.sharpening) * TargetBatch(lm, read).log_probs()
        if p.sharpening:
            taught = taught - p.sharpening * TargetBatch(lm, bare).log_probs()
        parts = torch.split(taught.log_softmax(-1), [len(row.goals) for row in bare])
        out += [row._replace(teacher=part.clone()) for row, part in zip(bare, parts, strict=True)]
    return out


def _losses(
    lm: LM, texts: Sequence[TargetText], answers: Sequence[TargetText], p: InContextDistillation.Params
) -> dict[str, float]:
    """Every term, a mean over its tokens; leaves the slopes of their weighted sum on the weights."""
    sums = {"text": 0.0, "soft": 0.0, "hard": 0.0}
    for rows, of_text in ((texts, True), (answers, False)):
        tokens = sum(len(row.goals) for row in rows)
        for chunk in _chunks(rows, p.batch):
            with torch.enable_grad():
                batch = TargetBatch(lm, chunk)
                log_probs = batch.log_probs()
                nll = -log_probs.gather(1, batch.goals[:, None]).sum() / tokens
                loss = (p.text_weight if of_text else p.hard_weight) * nll
                teachers = [row.teacher for row in chunk if row.teacher is not None]
                if teachers:
                    teacher = torch.cat(teachers)
                    soft = (teacher.exp() * (teacher - log_probs)).sum() / tokens
                    loss = loss + p.soft_weight * soft
                    sums["soft"] += float(soft.detach())
                torch.autograd.backward(loss)
            sums["text" if of_text else "hard"] += float(nll.detach())
    return sums


def _chunks(rows: Sequence[TargetText], size: int) -> Iterator[Sequence[TargetText]]:
    return (rows[start : start + size] for start in range(0, len(rows), size))
