"""Hidden states of the unedited model, kept so that passes under an edit begin where the edit does, or right above it.

Where an edit changes a layer's MLP output projection and what that gives is added to the block's output as it is, the
block need not run again: its output is what it was, and the change times what the projection reads.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from torch import Tensor

from evaluation.inference.token_tree import Tokens, TokenTree


class HiddenStates:
    """What blocks of the *unedited* model read or gave, by tree and layer; the oldest go when room runs out.

    Args:
        layers: Layers worth keeping: those at which edits begin.
        room: Bytes.
    """

    def __init__(self, layers: Iterable[int], *, room: int) -> None:
        self.layers, self.room, self._taken = frozenset(layers), room, 0
        self._kept: OrderedDict[tuple[int, tuple[Tokens, ...]], Tensor] = OrderedDict()
        self.tuples: dict[int, int] = {}

    def put(self, layer: int, tree: TokenTree, hidden: Tensor) -> None:
        """Keep a tree's hidden states, [nodes, width]."""
        key, size = (layer, tree.sequences), hidden.numel() * hidden.element_size()
        if size > self.room or key in self._kept:
            return
        while self._taken + size > self.room:
            _, old = self._kept.popitem(last=False)
            self._taken -= old.numel() * old.element_size()
        self._kept[key] = hidden.clone()
        self._taken += size

    @property
    def empty(self) -> bool:
        """Whether nothing is kept."""
        return not self._kept

    def get(self, layer: int, tree: TokenTree) -> Tensor | None:
        """A tree's hidden states, or None."""
        return self._kept.get((layer, tree.sequences))
