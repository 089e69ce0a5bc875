"""What a full reproduction of a published table needs, and what of it is on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from evaluation.reproduction.published import PublishedTable

_BYTES = {
    "GPT2-XL": 6.2,
    "GPT-J": 24.2,
    "GPT-Neo": 10.6,
    "Llama-2 7B": 27.0,
    "Llama-3": 32.1,
    "Mistral-7B": 29.0,
    "Llama-3-8B": 32.1,
}  # GB of the weights in float32


class Requirement(NamedTuple):
    """Something that a full reproduction needs, whether it is here, and what to do if not."""

    what: str
    here: bool
    fix: str


def requirements(what: PublishedTable, *, data: Path | None = None) -> list[Requirement]:
    """What a full reproduction needs, and what of it is on this machine.

    Args:
        what: The table.
        data: Folder with the published files; the working folder where it is not given.
    """
    folder = data or Path()
    out = []
    for name in what.data["data"]:
        fix = (
            f"get {name} from the authors' repository (it is not redistributed here), then name its folder with --data"
        )
        out.append(Requirement(f"data: {name}", (folder / name).is_file(), fix))
    for name, hub in what.data["models"].items():
        if what.data.get("endpoint") or name not in _BYTES:  # closed models
            continue
        out.append(Requirement(f"model: {hub}", _cached(hub), f"huggingface-cli download {hub}, or --set model=FOLDER"))
        size = _BYTES[name]
        memory_need = f"memory for {name}: about {size:.0f} GB of weights in float32, or half of it"
        out.append(
            Requirement(memory_need, _memory() >= size * 1.2, "a GPU or machine of that size, or dtype=bfloat16")
        )
    out += [_method(name) for name in what.data["methods"].values()]
    if what.data.get("endpoint"):
        out.append(
            Requirement("a key for the closed models", bool(os.environ.get("OPENAI_API_KEY")), "export OPENAI_API_KEY")
        )
    if judge := what.data.get("judge"):
        fix = f"export OPENAI_API_KEY and judge with --model {judge}, or another judge (then the table is another)"
        out.append(Requirement(f"judge: {judge}", bool(os.environ.get("OPENAI_API_KEY")), fix))
    if people := what.data.get("people"):
        out.append(
            Requirement(f"{people} people who rate the same scripts", False, "scedit annotate new NAME --overlap 3")
        )
    return out


def _method(name: str) -> Requirement:
    from evaluation.editors import EDITORS

    return Requirement(f"method: {name}", name in EDITORS.names(), "it comes with a later version")


def _cached(hub: str) -> bool:
    """Whether a model's configuration is in the hub cache; asks nothing of the network."""
    try:
        from huggingface_hub import try_to_load_from_cache
    except ModuleNotFoundError:
        return False
    return isinstance(try_to_load_from_cache(hub, "config.json"), str)


def _memory() -> float:
    """GB of the largest device: a GPU where there is one, else this machine's memory."""
    try:
        import torch

        if torch.cuda.is_available():
            return max(torch.cuda.get_device_properties(n).total_memory for n in range(torch.cuda.device_count())) / 1e9
    except ModuleNotFoundError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    except (ValueError, OSError, AttributeError):
        return 0.0
