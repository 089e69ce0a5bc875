"""Token boundary: the object must begin with a token of its own, and the prompt must read the same without it.

What a model is given and what it is scored on are cut from one tokenised text (``models.tokenization``). Two
things can go wrong at the cut. A token may hold both the prompt's last characters and the object's first, so scoring
the object also scores the prompt. Or the prompt's own tokens may change when an object follows, so that each object is
scored after another prompt. Only the tokenizer is needed, no weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from curation.checks.store_checks import CheckContext, StoreCheck
from curation.files.model_packages import EMBEDDED
from evaluation.checks.base import model_label
from evaluation.models.tokenization import tokens_of
from schemas.core.config import Options
from schemas.core.records import Record
from schemas.scripts import ScriptPrompt
from schemas.verdicts import Span, Verdict


class BoundaryFault(NamedTuple):
    """What is wrong at one object's boundary; ``start`` to ``end`` are characters of the prompt."""

    what: str
    target: str
    start: int
    end: int


def boundary_faults(
    tokenizer: Any, prompt: str, targets: Sequence[str], *, separator: str = " "
) -> list[BoundaryFault]:
    """What is wrong at the boundary between a prompt and each of its objects.

    Args:
        tokenizer: A fast tokenizer of transformers.
        prompt: Without the separator.
        targets: The objects.
        separator: What stands between.
    """
    faults: list[BoundaryFault] = []
    alone, unknown = tokens_of(tokenizer, prompt), tokenizer.unk_token_id
    for target in targets:
        text, begins = prompt + separator + target, len(prompt) + len(separator)
        joint = tokens_of(tokenizer, text)
        ids, spans = joint.ids, joint.spans
        first, last = next(((start, end) for start, end in spans if end > begins and end > start), (0, 0))
        if not last:
            faults.append(BoundaryFault("no token of the text belongs to the object", target, len(prompt), len(prompt)))
            continue
        if text[first:begins].strip():
            shown, at = text[first:last], min(first, len(prompt))
            faults.append(
                BoundaryFault(f"one token holds {shown!r}, with characters before the object", target, at, len(prompt))
            )
        elif ids[: len(alone.ids)] != alone.ids:
            n = next((i for i, (a, b) in enumerate(zip(alone.ids, ids, strict=False)) if a != b), len(ids))
            at = alone.spans[n][0] if n < len(alone.ids) else len(prompt)
            faults.append(
                BoundaryFault("the prompt's own tokens change when the object follows", target, at, len(prompt))
            )
        if unknown is not None and unknown in [i for i, (_, end) in zip(ids, spans, strict=True) if end > begins]:
            faults.append(BoundaryFault("the object holds an unknown token", target, len(prompt), len(prompt)))
    return faults


class TokenBoundary(StoreCheck):
    """Whether a prompt's objects begin with tokens of their own, for one tokenizer."""

    name = "token_boundary"
    version = 1
    on = "prompt"
    about = "whether the object's first token merges with the prompt, for a tokenizer (no weights are read)"
    default_model = EMBEDDED
    batch = 512

    class Params(Options):
        """Settings.

        Attributes:
            trust_remote_code: Run tokenizer code that a model brings along; off unless asked for.
        """

        trust_remote_code: bool = False

    def __init__(self, params: Options | None = None, *, model: str | None = None, tokenizer: Any = None) -> None:
        super().__init__(params, model=model)
        self._tokenizer = tokenizer

    @property
    def model(self) -> str | None:
        """The tokenizer's name in verdicts."""
        return None if self.model_name is None else model_label(self.model_name)

    @property
    def tokenizer(self) -> Any:
        """The tokenizer, loaded on first use."""
        if self._tokenizer is None:
            from evaluation.models.loading import load_tokenizer

            assert self.model_name is not None
            self._tokenizer = load_tokenizer(self.model_name, trust_remote_code=self.params.trust_remote_code)
        return self._tokenizer

    def judge(self, items: Sequence[Record], around: CheckContext) -> Iterator[Verdict]:
        """``keep``, or ``drop`` with the object and the place."""
        for item in items:
            assert isinstance(item, ScriptPrompt)
            fact = around.facts.get(item.fact)
            objects = [item.targets[0]]
            objects += [fact.new.text] if fact and fact.new else []
            objects += [t for t in item.targets[1:]]
            faults = boundary_faults(self.tokenizer, item.text, list(dict.fromkeys(objects)), separator=item.separator)
            if not faults:
                yield self.verdict(item, "keep")
                continue
            spans = [
                Span(start=f.start, end=f.end, text=item.text[f.start : f.end], what=f"before {f.target}")
                for f in faults
                if f.end > f.start
            ]
            reason = "; ".join(dict.fromkeys(f"{f.what} ({f.target!r})" for f in faults))
            yield self.verdict(item, "drop", reason, spans=spans)
