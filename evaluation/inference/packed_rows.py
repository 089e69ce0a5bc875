"""Several texts in each row of a pass, so that hardly anything is padding: every text attends to itself alone.

Rows of one text each are as long as the longest; texts of a few tokens then pay mostly for padding. Here texts stand
one after the other in rows of about equal length, each counted from its own beginning. Models that cannot take such
rows (``token_tree.can_pack``) get a row for each text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from evaluation.inference.token_tree import Tokens, TokenTree, can_pack, to_tensors

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

ROW = 64
"""Tokens that a row holds, about: attention over them costs two hundredths of what the maps of a block cost."""

_PACKS: WeakKeyDictionary[nn.Module, bool] = WeakKeyDictionary()


class PackedRows(NamedTuple):
    """Texts in rows.

    Attributes:
        ids: [rows, longest row].
        mask: Attention mask, as ids; or [rows, 1, longest, longest], added to the scores, where rows hold several.
        depths: Position ids, as ids; None where the model takes none.
        places: Where every token stands in the flattened rows: [tokens], text after text.
        tokens: Where it stands among [texts, longest text], flattened: [tokens].
        begins: Row and position of every text's first token.
        shape: Number of texts, and length of the longest.
    """

    ids: Tensor
    mask: Tensor
    depths: Tensor | None
    places: Tensor
    tokens: Tensor
    begins: list[tuple[int, int]]
    shape: tuple[int, int]

    def by_text(self, states: Tensor) -> Tensor:
        """States [rows, positions, width] as [texts, longest text, width], zero where a text has no token."""
        width = states.shape[-1]
        flat_states = states.reshape(-1, width).index_select(0, self.places)
        flat = flat_states.new_zeros(self.shape[0] * self.shape[1], width).index_copy(0, self.tokens, flat_states)
        return flat.reshape(*self.shape, width)

    def by_row(self, states: Tensor) -> Tensor:
        """States [texts, longest text, width] as [rows, positions, width], zero at padding."""
        width = states.shape[-1]
        flat_states = states.reshape(-1, width).index_select(0, self.tokens)
        return (
            flat_states.new_zeros(self.ids.numel(), width)
            .index_copy(0, self.places, flat_states)
            .reshape(*self.ids.shape, width)
        )


def pack_rows(lm: LM, texts: Sequence[Tokens], *, room: int = ROW) -> PackedRows:
    """Texts in rows of about ``room`` tokens, or a row each where the model cannot read several in one.

    Args:
        lm: The model.
        texts: Token ids of every text, none empty.
        room: Tokens that a row holds, about; a longer text is a longer row.
    """
    rows = [[n] for n in range(len(texts))]
    if len(texts) > 1 and not lm.layout.window and _can_pack(lm):
        rows = distribute([len(text) for text in texts], room)
    packed = to_tensors(lm, [_row([texts[n] for n in row]) for row in rows])
    longest, longest_text = packed.ids.shape[1], max(map(len, texts))
    begins: dict[int, tuple[int, int]] = {}
    for r, row in enumerate(rows):
        place = 0
        for n in row:
            begins[n] = (r, place)
            place += len(texts[n])
    places = [begins[n][0] * longest + begins[n][1] + i for n, text in enumerate(texts) for i in range(len(text))]
    tokens = [n * longest_text + i for n, text in enumerate(texts) for i in range(len(text))]
    arguments: dict[str, Any] = packed.arguments
    return PackedRows(
        packed.ids,
        arguments["attention_mask"],
        arguments.get("position_ids"),
        torch.tensor(places, device=lm.device),
        torch.tensor(tokens, device=lm.device),
        [begins[n] for n in range(len(texts))],
        (len(texts), longest_text),
    )


def distribute(lengths: Sequence[int], room: int) -> list[list[int]]:
    """Texts, as indices, over as few rows of ``room`` as may hold them, the rows of about equal length.

    Example:
        >>> distribute([5, 3, 4, 4], 8)
        [[0, 1], [2, 3]]
    """
    room = max(room, max(lengths))
    rows: list[list[int]] = [[] for _ in range(-(-sum(lengths) // room))]
    filled = [0] * len(rows)
    for n in sorted(range(len(lengths)), key=lambda n: -lengths[n]):
        emptiest = filled.index(min(filled))
        rows[emptiest].append(n)
        filled[emptiest] += lengths[n]
    return rows


def _row(texts: Sequence[Tokens]) -> TokenTree:
    """Texts one after the other, none sharing tokens with another."""
    paths, begun = [], 0
    for text in texts:
        paths.append(list(range(begun, begun + len(text))))
        begun += len(text)
    ids = [token for text in texts for token in text]
    ends = [path[-1] + 1 for path in paths for _ in path]  # a text's tokens stand below its earlier ones, to its end
    return TokenTree(tuple(texts), ids, [i for text in texts for i in range(len(text))], ends, paths)


def _can_pack(lm: LM) -> bool:
    """``can_pack``, tried once for each model."""
    if lm.model not in _PACKS:
        _PACKS[lm.model] = can_pack(lm)
    return _PACKS[lm.model]
