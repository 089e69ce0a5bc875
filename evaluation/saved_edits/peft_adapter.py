"""An edit as a LoRA adapter in the format of PEFT: ``adapter_config.json`` and ``adapter_model.safetensors``.

LoRA (Hu et al. 2022) adds ``(alpha / r) B A x`` to a linear map's output. With alpha = r that is a low-rank change
``left @ right.T`` with B = left and A = right.T: nothing is approximated. All maps get one rank (zeros fill up), since
servers such as vLLM read one rank for the whole adapter. Names and shapes are those of PEFT's checkpoint format
(https://huggingface.co/docs/peft/developer_guides/checkpoint); PEFT itself is not needed to write it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from curation.files.atomic import write_json
from evaluation.edits.routed_deltas import RoutedDelta
from evaluation.edits.weight_deltas import Delta, DenseDelta, LowRankDelta, owners
from evaluation.models.language_model import LM
from evaluation.models.linear_maps import is_transposed
from evaluation.saved_edits.merged_weights import not_savable
from schemas.core.errors import UserError

VLLM_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Values of vLLM's ``--max-lora-rank`` (vllm/config/lora.py); an adapter's own rank may be any up to it."""


class AdapterFactors(NamedTuple):
    """An adapter's factors by the name of their map: ``down`` [r, in] and ``up`` [out, r], float32, one r for all."""

    rank: int
    down: dict[str, Tensor]
    up: dict[str, Tensor]
    transposed: bool


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
    tensors = {f"base_model.model.{name}.lora_A.weight": down for name, down in factors.down.items()}
    tensors |= {f"base_model.model.{name}.lora_B.weight": up for name, up in factors.up.items()}
    save_file(tensors, folder / "adapter_model.safetensors", metadata={"format": "pt"})
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
