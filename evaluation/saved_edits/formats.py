"""Files of a saved edit: changes of weights as data, a LoRA adapter in the format of PEFT, and edited weights.

LoRA (Hu et al. 2022) adds ``(alpha / r) B A x`` to a linear map's output. With alpha = r that is a low-rank change
``left @ right.T`` with B = left and A = right.T: nothing is approximated. All maps get one rank (zeros fill up), since
servers such as vLLM read one rank for the whole adapter. Names and shapes are those of PEFT's checkpoint format
(https://huggingface.co/docs/peft/developer_guides/checkpoint); PEFT itself is not needed to write it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from curation.files.atomic import write_json
from evaluation.edits.edit import WeightEdit
from evaluation.edits.routed_deltas import RoutedDelta
from evaluation.edits.weight_deltas import Delta, DenseDelta, LowRankDelta, WeightDelta, owners, restore
from evaluation.models.language_model import LM
from evaluation.models.layout import is_transposed
from schemas.core.errors import DataError, UserError


@contextmanager
def merge_into_weights(model: nn.Module, deltas: Sequence[Delta]) -> Iterator[float]:
    """Run the block with the changes in the weights themselves, of whatever type; restored bit for bit at the end.

    Sums are float32 and then rounded to the weight's type. ``evaluation.edits.delta_stack.applied`` rounds nothing:
    it keeps changes of narrow weights beside them.

    Args:
        model: The model.
        deltas: Its changes; several of one weight add up before anything is rounded.

    Yields:
        How far the stored changes are from the wanted ones: the largest share over the weights of the norm of the
        difference in the norm of the change (0 where nothing is rounded away, 1 where a change vanished).

    Raises:
        UserError: a change names no linear map, has another shape, is routed, or its weight is shared with another
            module.
    """
    groups: dict[nn.Module, list[WeightDelta]] = {}
    for delta in deltas:
        refuse_shared(model, delta)
        if isinstance(delta, RoutedDelta):
            raise not_savable(delta.weight)
        groups.setdefault(owners(model, delta)[0], []).append(delta)
    saved: dict[nn.Module, Tensor] = {}
    try:
        lost = [_merge(module, module_deltas, saved) for module, module_deltas in groups.items()]
        yield max(lost, default=0.0)
    finally:
        restore(saved)


@torch.no_grad()
def _merge(module: nn.Module, deltas: Sequence[WeightDelta], saved: dict[nn.Module, Tensor]) -> float:
    """Add changes to one weight; the share of them that rounding takes."""
    weight = module.weight
    assert isinstance(weight, Tensor)
    change = torch.stack([d.matrix().to(weight.device).float() for d in deltas]).sum(0)
    change = change.T if is_transposed(module) else change
    saved[module] = weight.detach().clone()
    weight.copy_((weight.float() + change).to(weight.dtype))
    size = float(change.norm())
    if weight.dtype in (torch.float32, torch.float64) or not size:
        return 0.0
    return float((weight.float() - saved[module].float() - change).norm()) / size


def not_savable(name: str) -> UserError:
    """Why a routed change is in no file of weights; it is named by its method or its weight."""
    return UserError(
        f"an edit of '{name}' is switched on prompt by prompt, so no weights, adapter or file of changes can hold it",
        fix="use it in a run (scedit run), or save a method that changes weights, such as rome, memit, ft or lora",
    )


def refuse_shared(model: nn.Module, delta: Delta) -> None:
    """Refuse a change of a weight that another module uses too (a head tied to the embedding): it would move both.

    Raises:
        UserError: the weight is shared.
    """
    _, *others = owners(model, delta)
    for name, module in model.named_modules():
        if module in others:
            raise UserError(
                f"'{delta.weight}' is the weight of '{name}' too: an edit of it cannot be saved",
                fix="edit a weight inside a block",
            )


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


VLLM_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Values of vLLM's ``--max-lora-rank`` (vllm/config/lora.py); an adapter's own rank may be any up to it."""


class AdapterFactors(NamedTuple):
    """An adapter's factors by the name of their map: ``down`` [r, in] and ``up`` [out, r], float32, one r for all."""

    rank: int
    down: dict[str, Tensor]
    up: dict[str, Tensor]
    transposed: bool

    def tensors(self) -> dict[str, Tensor]:
        """The factors under the names of PEFT's checkpoints."""
        named = {f"base_model.model.{name}.lora_A.weight": down for name, down in self.down.items()}
        return named | {f"base_model.model.{name}.lora_B.weight": up for name, up in self.up.items()}


def adapter_factors(model: nn.Module, deltas: Sequence[Delta]) -> AdapterFactors:
    """The changes as the factors of one adapter; several changes of one weight stand side by side in them.

    Where their ranks add up to more than the weight's own, the sum itself is written, which has that rank.

    Args:
        model: The model; left as it is.
        deltas: Low-rank changes.

    Raises:
        UserError: there is none, a change is dense or routed, names no linear map, or is not finite; or maps that store
            their weight as [in, out] (Conv1D) stand beside others, which one adapter cannot say.
    """
    groups: dict[str, list[LowRankDelta]] = {}
    stored: set[bool] = set()
    for delta in deltas:
        module, *_ = owners(model, delta)
        if isinstance(delta, RoutedDelta):
            raise not_savable(delta.weight)
        if isinstance(delta, DenseDelta):
            raise UserError(
                f"the edit changes every entry of '{delta.weight}', which no low-rank adapter can hold",
                fix="use --save-as deltas or --save-as model, or a low-rank method such as rome, memit or lora",
            )
        if not (delta.left.isfinite().all() and delta.right.isfinite().all()):
            raise UserError(f"the change of '{delta.weight}' is not finite", fix="use other options of the method")
        stored.add(is_transposed(module))
        groups.setdefault(delta.weight.rpartition(".")[0], []).append(delta)
    if not groups:
        raise UserError("the edit changes no weight: there is nothing to save", fix="use a method that changes weights")
    if len(stored) > 1:
        raise UserError(
            "the edit changes weights that are stored as [in, out] and as [out, in], which one adapter cannot say",
            fix="use --save-as deltas or --save-as model",
        )
    pairs = {name: _side_by_side(factors) for name, factors in groups.items()}
    rank = max(left.shape[1] for left, _ in pairs.values())
    return AdapterFactors(
        rank,
        {name: _filled(right.T, 0, rank) for name, (_, right) in pairs.items()},
        {name: _filled(left, 1, rank) for name, (left, _) in pairs.items()},
        stored.pop(),
    )


def _side_by_side(deltas: Sequence[LowRankDelta]) -> tuple[Tensor, Tensor]:
    """One pair [out, r], [in, r] on the CPU whose product is the sum of all."""
    left = torch.cat([d.left.detach().float().cpu() for d in deltas], 1)
    right = torch.cat([d.right.detach().float().cpu() for d in deltas], 1)
    out, inner = left.shape[0], right.shape[0]
    if left.shape[1] <= min(out, inner):
        return left, right
    whole = (left.double() @ right.double().T).float()
    return (torch.eye(out), whole.T) if out <= inner else (whole, torch.eye(inner))


def _filled(factor: Tensor, axis: int, rank: int) -> Tensor:
    """The factor with zeros up to the rank."""
    shape = list(factor.shape)
    shape[axis] = rank - shape[axis]
    return torch.cat([factor, factor.new_zeros(shape)], axis).contiguous()


def write_adapter(lm: LM, deltas: Sequence[Delta], folder: Path) -> AdapterFactors:
    """Write an adapter into a folder that is there.

    Args:
        lm: The model that it is for.
        deltas: Low-rank changes.
        folder: Where the two files go.

    Returns:
        What was written.

    Raises:
        UserError: as ``adapter_factors``, or the files cannot be written.
    """
    factors = adapter_factors(lm.model, deltas)
    save_file(factors.tensors(), folder / "adapter_model.safetensors", metadata={"format": "pt"})
    write_json(folder / "adapter_config.json", _config(lm, factors))
    return factors


def _config(lm: LM, factors: AdapterFactors) -> dict[str, Any]:
    return {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": lm.name,
        "revision": getattr(lm.model.config, "_commit_hash", None),
        "r": factors.rank,
        "lora_alpha": factors.rank,
        "target_modules": sorted(factors.down),
        "fan_in_fan_out": factors.transposed,
        "bias": "none",
        "inference_mode": True,
        "init_lora_weights": True,
        "lora_dropout": 0.0,
        "modules_to_save": None,
        "rank_pattern": {},
        "alpha_pattern": {},
        "use_dora": False,
        "use_rslora": False,
    }


def vllm_rank(rank: int) -> int | None:
    """The smallest ``--max-lora-rank`` with which vLLM takes an adapter of a rank; None above the greatest.

    Example:
        >>> vllm_rank(1), vllm_rank(9), vllm_rank(513)
        (1, 16, None)
    """
    return next((allowed for allowed in VLLM_RANKS if rank <= allowed), None)
