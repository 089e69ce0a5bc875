"""Long targets cut into windows: a hidden state for each, searched for in order with the earlier ones active.

AnyEdit (Jiang et al. 2025, §4): one state at one place cannot make a model say a long text. So the target is cut into
windows, and the state before every window's first token is searched for, given the text and the states before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from evaluation.editors.locate_edit.value_search import SearchedValue, SearchSettings, search_text
from evaluation.editors.target_texts import TargetText
from evaluation.models.hooks import replace_output
from evaluation.models.language_model import LM
from evaluation.models.tokenization import TokenPosition
from schemas.cases import EditRequest
from schemas.core.errors import UserError
from schemas.facts import Fact


class TargetWindow(NamedTuple):
    """A part of a target.

    Attributes:
        ids: Tokens of the prompt and of the target up to the window's end.
        first: Its first token's position; the state is searched for at the one before it.
        request: Number of the edit.
    """

    ids: tuple[int, ...]
    first: int
    request: int

    @property
    def place(self) -> TokenPosition:
        """The text before it, marked at its last token."""
        return TokenPosition(self.ids[: self.first], self.first - 1)

    @property
    def inside(self) -> list[TokenPosition]:
        """The text up to every token of it but the last, marked there: what the model reads while it says it."""
        return [TokenPosition(self.ids[: n + 1], n) for n in range(self.first, len(self.ids) - 1)]


def windows_of(
    lm: LM, number: int, request: EditRequest, *, window: int, lead: int, overlap: int = 0
) -> list[TargetWindow]:
    """The windows of a request's target: the new object of a fact, a document after its first tokens.

    A window that would hold nothing but the end of the one before it is left out. (The published code makes it, and
    looks one token too far right for its place and targets.)

    Args:
        lm: The model.
        number: Of the request.
        request: A fact or a document.
        window: Tokens of a window; the last one may be shorter.
        lead: Tokens of a document that ask for the rest.
        overlap: Tokens at a window's beginning that end the one before it; fewer than ``window``.

    Raises:
        UserError: the model cannot read it whole, or a document is no longer than its lead.
    """
    if isinstance(request, Fact):
        text = lm.encode(request.fact_prompt, request.new_object.text)
        ids, first = text.ids, text.first
    else:
        ids = lm.token_ids(request.statement)
        first = lead + sum(1 for token in ids[:1] if token in lm.tokenizer.all_special_ids)
    if first == 0 or len(ids) <= first or (lm.limit and len(ids) > lm.limit):
        raise UserError(
            f"{len(ids)} tokens, of which the first {first} ask for the rest, cannot be edited",
            where=request.key,
            allowed=f"a prompt, a target, and at most {lm.limit or 'any number of'} tokens together",
            fix="cut the text, or set another lead",
        )
    starts = range(first, max(first + 1, len(ids) - overlap), window - overlap)
    return [TargetWindow(ids[: start + window], start, number) for start in starts]


def kept_places(windows: Sequence[TargetWindow]) -> list[TokenPosition]:
    """Places inside windows before which no window begins, of every request once, also where windows overlap."""
    begins = {(one.request, one.place.last) for one in windows}
    inside = {(one.request, place.last): place for one in windows for place in one.inside}
    return [place for at, place in inside.items() if at not in begins]


def search_windows(
    lm: LM, layer: int, windows: Sequence[TargetWindow], *, settings: SearchSettings
) -> list[SearchedValue]:
    """The states of one request's windows in a block's output, in order; each is kept while the next is searched for.

    A window's loss is the mean negative log-probability of its tokens plus the decay of δ. As in ``search_values`` the
    search ends where the loss is below ``stop_below`` or at the last evaluation, before an update, and δ stays within
    ``clamp``·|v₀|.

    Args:
        lm: The model.
        layer: Whose output is changed.
        windows: All windows of the request, in order.
        settings: Options; ``kl_weight`` has no part in it.
    """
    earlier: dict[int, Tensor] = {}
    values = []

    def add(_: Tensor, out: Tensor) -> Tensor:
        changed = out.clone()
        for position, shift in earlier.items():
            changed[0, position] += shift.to(out.dtype)
        return changed

    with replace_output(lm.block(layer), add):
        for window in windows:
            at = window.first - 1
            text = TargetText.shifted(window.ids, window.first)._replace(changed=at)
            value = search_text(lm, layer, text, settings=settings)
            earlier[at] = value.target - value.initial
            values.append(value)
    return values
