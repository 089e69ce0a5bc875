"""Selective contextual reasoning: the model itself decides which retrieved facts matter (He et al., 2503.05212)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field
from typing_extensions import override

from evaluation.editors.in_context.dense import DenseRetrieval
from evaluation.editors.in_context.retrieval import statement
from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.passes import EditedProbes
from schemas.cases import EditRequest
from schemas.probes import ScoreProbe

_ASKED = (
    "Fact: {fact}\nText: {prompt}\n\nIs this fact needed to continue or to answer the text? Answer with yes or no.\n"
    "Answer:"
)


class SelectiveReasoning(DenseRetrieval):
    """Retrieval by meaning, after which the model is asked of each fact whether it matters for the prompt.

    A fact is put before a prompt if "yes" is more probable than "no" by more than ``margin``, in the model's chat
    template where it has one. The paper lets the model name the fact in words; its wording is not ours, and its figures
    are not reproduced.
    """

    name: ClassVar[str] = "scr"
    about: ClassVar[str] = "the nearest edits by meaning, of which the model itself says whether they matter (SCR)"
    costs: ClassVar[str] = "an embedding and up to ``top`` questions a prompt; longer prompts"

    class Params(DenseRetrieval.Params):
        """Options: those of dense retrieval, and when a fact matters.

        Attributes:
            top: Facts that the model is asked about.
            margin: How much more probable "yes" must be than "no", in nats.
        """

        top: int = Field(default=3, ge=1)
        margin: float = 0.0

    params: Params

    @property
    @override
    def components(self) -> Mapping[str, str]:
        return {**super().components, "asked": "scr@2", "form": "chat" if self.lm.has_chat else "raw"}

    def matter(self, found: Sequence[tuple[EditRequest, str]]) -> list[bool]:
        """Whether the model says of each edit that it is needed for a prompt."""
        probes = [
            ScoreProbe(
                purpose="scr",
                item=request.key,
                prompt=_ASKED.format(fact=statement(request), prompt=prompt),
                targets=("yes", "no"),
                chat=self.lm.has_chat,
            )
            for request, prompt in found
        ]
        (answers,) = EditScorer(self.lm).score([EditedProbes((), None, probes)])
        return [_says_yes(answer.targets, self.params.margin) for answer in answers]


def _says_yes(targets: Sequence[Any], margin: float) -> bool:
    """Whether "yes" is more probable than "no"; a question that is too long for the model counts as a no."""
    return bool(targets) and bool(targets[0].logprob - targets[1].logprob > margin)
