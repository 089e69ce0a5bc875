"""Model files: the embedded model converted once, local folders and hub names; safetensors only."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch

from curation.model_files import EMBEDDED, cache_dir, embedded_gguf
from schemas.errors import ModelError, UserError
from schemas.ids import digest

log = logging.getLogger(__name__)

CONVERTER = 1  # raise it when a converted model would come out otherwise
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class Loaded(NamedTuple):
    """A model with its tokenizer; ``revision`` names the very weights and configuration, None where nothing does."""

    model: Any
    tokenizer: Any
    revision: str | None


def load(name: str, *, device: torch.device, dtype: torch.dtype, trust_remote_code: bool = False) -> Loaded:
    """Load a decoder: ``embedded``, a folder, or the name of a model on the hub.

    Raises:
        ModelError: there is no such model, it has no safetensors weights, it is no decoder.
    """
    source = str(_converted()) if name == EMBEDDED else name
    from transformers import AutoModelForCausalLM, AutoTokenizer

    kind: dict[str, Any] = {"trust_remote_code": trust_remote_code}
    try:
        with _quiet():
            tokenizer = AutoTokenizer.from_pretrained(source, **kind)
            model: Any = AutoModelForCausalLM.from_pretrained(source, dtype=dtype, use_safetensors=True, **kind)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise _explained(name, error) from None
    model.to(device)
    folder = Path(source)
    revision = _folder_revision(folder) if folder.is_dir() else getattr(model.config, "_commit_hash", None)
    return Loaded(model, tokenizer, revision)


def pick_device(device: str) -> torch.device:
    """``auto``: CUDA where there is one, else the CPU; anything else must exist.

    Raises:
        ModelError: the device is unknown or not on this machine.
    """
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        picked = torch.device(device)
    except RuntimeError:
        raise ModelError(f"unknown device '{device}'", allowed="auto, cpu, cuda, cuda:0 ...") from None
    if picked.type == "cuda" and not torch.cuda.is_available():
        raise ModelError("no CUDA device is at hand", where=device, fix="use device = 'cpu' or 'auto'")
    if picked.type == "cuda" and (picked.index or 0) >= torch.cuda.device_count():
        raise ModelError(f"there are {torch.cuda.device_count()} CUDA devices", where=device)
    return picked


def pick_dtype(dtype: str) -> torch.dtype:
    """A floating type by name.

    Raises:
        ModelError: for any other name.
    """
    if dtype not in DTYPES:
        raise ModelError(f"unknown dtype '{dtype}'", allowed=", ".join(DTYPES))
    return DTYPES[dtype]


def _explained(name: str, error: Exception) -> ModelError:
    text = " ".join(str(error).split())
    if "Unrecognized configuration class" in text or "does not recognize this architecture" in text:
        return ModelError("this is no decoder that transformers knows", where=name, fix="name a causal language model")
    if "trust_remote_code" in text:
        return ModelError("the model brings its own code", where=name, fix="read it, then set trust_remote_code = true")
    if "safetensors" in text:
        return ModelError(
            "the model has no safetensors weights", where=name, fix="convert them with transformers first"
        )
    if Path(name).exists():
        return ModelError(f"the folder holds no readable model: {text[:200]}", where=name)
    return ModelError(
        f"the model cannot be loaded: {text[:200]}",
        where=name,
        fix=f"name a folder, a model on the hub, or '{EMBEDDED}'",
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Without transformers' progress bars, which would fall between our own lines."""
    from transformers.utils import logging as hf

    shown = hf.is_progress_bar_enabled()
    hf.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if shown:
            hf.enable_progress_bar()  # type: ignore[no-untyped-call]


def _converted() -> Path:
    """Folder of the embedded model in float32 safetensors; converted from GGUF on first use (about 20 s)."""
    gguf = embedded_gguf()
    folder = cache_dir() / "models" / f"smollm2-135m-instruct-{file_digest(gguf)[:16]}-v{CONVERTER}"
    if folder.is_dir():
        return folder
    log.info("converting the embedded model to %s (once, about 20 s)", folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".converting-"))
    try:
        _convert(gguf, work)
        os.replace(work, folder)
    except OSError as error:
        if not folder.is_dir():  # another process may have finished first
            raise ModelError(f"the converted model cannot be written: {error}", where=str(folder)) from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder


def _convert(gguf: Path, target: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        with _quiet():
            quantised = AutoModelForCausalLM.from_pretrained(str(gguf.parent), gguf_file=gguf.name, dtype=torch.float32)
            tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
    except ImportError as error:
        raise ModelError(
            f"reading GGUF needs another package: {error}", fix="run: pip install 'scedit[local]'"
        ) from None
    config = quantised.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config  # the weights are plain float32 now; kept, it would ask for the GGUF again
    plain = type(quantised)(config)
    plain.load_state_dict(quantised.state_dict())
    plain.save_pretrained(target)
    tokenizer.save_pretrained(target)


def file_digest(path: Path) -> str:
    """SHA-256 of a file; remembered by path, size and time of change, since weights are large.

    The memory is a file in the cache folder; where that cannot be written, the digest is simply computed anew.
    """
    try:
        stat = path.stat()
    except OSError as error:
        raise UserError(f"the file cannot be read: {error.strerror}", where=str(path)) from None
    key = f"{path.resolve()}|{stat.st_size}|{stat.st_mtime_ns}"
    memory = cache_dir() / "digests.json"
    try:
        known: dict[str, str] = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = {}
    if key not in known:
        with path.open("rb") as file:
            known[key] = hashlib.file_digest(file, "sha256").hexdigest()
        try:
            memory.parent.mkdir(parents=True, exist_ok=True)
            part = memory.with_suffix(f".{os.getpid()}.tmp")
            part.write_text(json.dumps(known), encoding="utf-8")
            os.replace(part, memory)
        except OSError:
            log.debug("the digest memory %s cannot be written", memory)
    return known[key]


def _folder_revision(folder: Path) -> str:
    """Digest of configuration, weights and tokenizer in a folder."""
    parts = [
        f"{path.name} {file_digest(path)}"
        for path in sorted(folder.iterdir())
        if path.name in ("config.json", "tokenizer.json") or path.suffix == ".safetensors"
    ]
    return digest(parts)[:20]
