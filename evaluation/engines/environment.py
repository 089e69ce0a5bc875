"""What a run's numbers may depend on beside its identity: versions, processor, accelerator, git state."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from schemas.core.clock import now

_PACKAGES = ("scedit", "torch", "transformers", "tokenizers", "safetensors", "numpy", "pydantic", "duckdb")


def environment(device: str = "cpu", *, weights: Any = None) -> dict[str, Any]:
    """The environment of one session of a run; it names no machine.

    Args:
        device: Where the model computes, as PyTorch spells it.
        weights: The model's module, where it has one: its attention implementation is recorded.

    Returns:
        Plain values for JSON. ``accelerator`` is null on a CPU; ``peak_memory`` says what the peaks of the run count.
    """
    packages: dict[str, str | None] = {}
    for name in _PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            packages[name] = None
    cuda = device.startswith("cuda") and torch.cuda.is_available()
    return {
        "at": now(zone="Z"),
        "device": device,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "accelerator": _accelerator(device) if cuda else None,
        "attention": weights.config._attn_implementation if isinstance(weights, PreTrainedModel) else None,
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "peak_memory": "allocated on the device" if cuda else "resident memory of the process",
        "packages": packages,
        "git": _git(Path(__file__).parents[2]),
    }


def _accelerator(device: str) -> dict[str, Any]:
    """What tells one GPU's numbers from another's."""
    properties = torch.cuda.get_device_properties(device)
    return {
        "name": properties.name,
        "capability": f"{properties.major}.{properties.minor}",
        "memory_bytes": properties.total_memory,
        "count": torch.cuda.device_count(),
        "driver": _ask("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"),
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "tf32": bool(torch.backends.cuda.matmul.allow_tf32),
        "cudnn_attention": torch.backends.cuda.cudnn_sdp_enabled(),  # type: ignore[no-untyped-call]
    }


def _git(folder: Path) -> dict[str, Any] | None:
    """Commit of the program's own checkout and whether it was changed; None for an installed package."""
    if not (folder / ".git").exists():
        return None
    commit = _ask("git", "-C", str(folder), "rev-parse", "HEAD")
    status = _ask("git", "-C", str(folder), "status", "--porcelain")
    return None if commit is None or status is None else {"commit": commit, "changed": bool(status)}


def _ask(*words: str) -> str | None:
    """What a program prints, its first line where there are several devices; None where it cannot be had."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip().split("\n")[0]
