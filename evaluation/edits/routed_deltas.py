"""Changes of one module's output that a gate switches on, row by row: by each row's own prompt, never by its batch.

A gate reads the tokens of a row's prompt, so whoever runs a pass tells where prompts end (``tell_prompts``). What it
decided holds for the row, also in passes that go on from a cache of keys and values (``PromptRows.decisions``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from evaluation.models.devices import send
from evaluation.models.hooks import replace_output
from schemas.core.errors import UserError

_ASKED: WeakKeyDictionary[nn.Module, PromptRows | None] = WeakKeyDictionary()
_ACTIVE: WeakKeyDictionary[nn.Module, int] = WeakKeyDictionary()


class PromptRows:
    """The prompts of the rows of a pass, and what gates decided for them.

    Attributes:
        lengths: Tokens of every row's prompt, which its row begins with, [rows]; None in passes after the prompts.
        decisions: By gate the number of the item that every row is sent to, [rows]; -1: none.
    """

    def __init__(self, lengths: Tensor | None) -> None:
        self.lengths = lengths
        self.decisions: dict[Hashable, Tensor] = {}

    @classmethod
    def of(cls, lengths: Sequence[int], device: torch.device) -> PromptRows:
        """Prompts of these lengths, each at least one token."""
        return cls(send(list(lengths), device))


class RoutedDelta(ABC):
    """A change of one linear module's output, for rows whose prompts its gate sends to one of its items.

    Of several on one module that come one after the other the newest holds: it carries on what the earlier ones knew.

    Attributes:
        weight: Name of the module's weight parameter, which stays as it is.
    """

    weight: str

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """(out, in) of the module."""

    @property
    @abstractmethod
    def tensors(self) -> tuple[Tensor, ...]:
        """All that it is made of, float32."""

    @abstractmethod
    def on(self, device: torch.device) -> RoutedDelta:
        """The same with its tensors on a device."""

    @abstractmethod
    def decide(self, keys: Tensor, out: Tensor, lengths: Tensor) -> Tensor:
        """The item that each row is sent to, or -1: [rows].

        Args:
            keys: What the module reads, [rows, positions, in].
            out: What it returns, [rows, positions, out].
            lengths: Tokens of every row's prompt, [rows].
        """

    @abstractmethod
    def change(self, keys: Tensor, out: Tensor, lengths: Tensor | None, chosen: Tensor) -> Tensor:
        """The module's output with the chosen items active; ``lengths`` is None in passes after the prompts."""

    def norm(self) -> float:
        """Euclidean norm of all its numbers."""
        return float(torch.stack([part.float().square().sum() for part in self.tensors]).sum().sqrt())


@contextmanager
def tell_prompts(model: nn.Module, rows: PromptRows | None) -> Iterator[None]:
    """Passes inside the block read rows that begin with these prompts; None: no routed change acts in them."""
    missing = object()
    before = _ASKED.get(model, missing)
    _ASKED[model] = rows
    try:
        yield
    finally:
        if before is missing:
            _ASKED.pop(model, None)
        else:
            _ASKED[model] = before  # type: ignore[assignment]


def tell_prompts_if(model: nn.Module, rows: PromptRows | None) -> AbstractContextManager[None]:
    """``tell_prompts`` where there are rows, else nothing: what is active around stays."""
    return nullcontext() if rows is None else tell_prompts(model, rows)


def is_routed(model: nn.Module) -> bool:
    """Whether a routed change is on the model: passes must then say where their prompts end."""
    return bool(_ACTIVE.get(model))


def prompts_of_pass(model: nn.Module, weight: str) -> PromptRows | None:
    """The prompts that the running pass was said to read; None where routed changes are not to act.

    Raises:
        UserError: it was not said where they end.
    """
    if model not in _ASKED:
        raise UserError(
            f"a routed edit of '{weight}' is active, and this pass does not say where its prompts end",
            fix="ask probes (score, generate), or say it: with tell_prompts(model, PromptRows.of(lengths, device))",
        )
    return _ASKED[model]


@contextmanager
def apply_routed(model: nn.Module, module: nn.Module, current: list[RoutedDelta]) -> Iterator[None]:
    """The last of ``current`` changes the module's output in all passes inside the block."""

    def change(keys: Tensor, out: Tensor) -> Tensor:
        prompts = prompts_of_pass(model, current[-1].weight)
        if prompts is None:
            return out
        return route_groups({0: current[-1]}, [0] * len(out), keys, out, prompts, module)

    with replace_output(module, change):
        _ACTIVE[model] = _ACTIVE.get(model, 0) + 1
        try:
            yield
        finally:
            _ACTIVE[model] -= 1


def route_groups(
    deltas: dict[int, RoutedDelta], rows: Sequence[int], keys: Tensor, out: Tensor, prompts: PromptRows, gate: Hashable
) -> Tensor:
    """A module's output where every row has a routed change of its own, or none.

    Args:
        deltas: Changes by number of the edit.
        rows: Number of the edit active in every row.
        keys: What the module reads, [rows, positions, in].
        out: What it returns, the rows' other changes included, [rows, positions, out].
        prompts: The prompts of the pass; decisions are kept there.
        gate: What the decisions are kept under.
    """
    lengths, new = None if prompts.lengths is None else prompts.lengths.to(out.device), out.clone()
    chosen = prompts.decisions.get(gate)
    if lengths is not None or chosen is None:
        chosen = torch.full((len(rows),), -1, dtype=torch.long, device=out.device)
    for n in dict.fromkeys(row for row in rows if row in deltas):
        places = send([r for r, row in enumerate(rows) if row == n], out.device)
        some = None if lengths is None else lengths[places]
        if some is not None:
            chosen[places] = deltas[n].decide(keys[places], out[places], some)
        new[places] = deltas[n].change(keys[places], out[places], some, chosen[places]).to(new.dtype)
    prompts.decisions[gate] = chosen
    return new
