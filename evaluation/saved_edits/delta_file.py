"""Changes of weights as a file: factors of low-rank ones, matrices of dense ones, exact in float32."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from evaluation.edits.edit import WeightEdit
from evaluation.edits.routed_deltas import RoutedDelta
from evaluation.edits.weight_deltas import Delta, DenseDelta, LowRankDelta
from evaluation.saved_edits.merged_weights import not_savable
from schemas.core.errors import DataError

FILE = "deltas.safetensors"
FORMAT = "weight deltas 1"


def write_deltas(deltas: Sequence[Delta], folder: Path) -> None:
    """Write changes into ``deltas.safetensors`` of a folder that is there, in their order.

    Tensors are named ``NUMBER/WEIGHT/PART``; the parts are ``left`` [out, r] and ``right`` [in, r], or ``value``
    [out, in]. All are float32; a change is ``left @ right.T``, or ``value``.

    Raises:
        UserError: a change is routed.
    """
    tensors: dict[str, Tensor] = {}
    for n, delta in enumerate(deltas):
        if isinstance(delta, RoutedDelta):
            raise not_savable(delta.weight)
        if isinstance(delta, LowRankDelta):
            parts = {"left": delta.left, "right": delta.right}
        else:
            parts = {"value": delta.value}
        for part, tensor in parts.items():
            tensors[f"{n}/{delta.weight}/{part}"] = tensor.detach().float().cpu().contiguous()
    save_file(tensors, folder / FILE, metadata={"format": FORMAT})


def load_deltas(folder: Path | str) -> WeightEdit:
    """The edit that ``write_deltas`` wrote.

    Args:
        folder: The folder that ``scedit edit --save-as deltas`` made.

    Raises:
        DataError: there is no such file, or it holds something else.
    """
    path = Path(folder) / FILE
    parts_by_number: dict[int, dict[str, tuple[str, Tensor]]] = {}
    try:
        with safe_open(path, framework="pt") as file:
            if (file.metadata() or {}).get("format") != FORMAT:
                raise DataError("this is no file of changes", where=str(path), fix="make one: --save-as deltas")
            for name in file.keys():  # noqa: SIM118 - no mapping
                number, weight, part = name.split("/")
                parts_by_number.setdefault(int(number), {})[part] = (weight, file.get_tensor(name))
        return WeightEdit(tuple(_delta(parts) for _, parts in sorted(parts_by_number.items())))
    except FileNotFoundError:
        raise DataError("there is no such file", where=str(path), fix="make one: --save-as deltas") from None
    except (OSError, SafetensorError, ValueError, KeyError) as error:
        raise DataError(f"the file cannot be read: {error}", where=str(path), fix="make it again") from None


def _delta(parts: dict[str, tuple[str, Tensor]]) -> Delta:
    if "value" in parts:
        return DenseDelta(*parts["value"])
    weight, left = parts["left"]
    return LowRankDelta(weight, left, parts["right"][1])
