"""Model files: local folders and hub names in safetensors; the embedded model and GGUF files, converted once."""

from __future__ import annotations

import logging
import os
import shutil
import struct
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch

from curation.files.artifact_cache import remembered_sha256
from curation.files.local_models import converted_folder, gguf_depth, model_file
from curation.files.model_packages import EMBEDDED, cache_dir, quiet_transformers
from evaluation.models.devices import out_of_memory
from schemas.core.errors import ModelError, UserError
from schemas.core.ids import digest

log = logging.getLogger(__name__)

SPREAD = "map"
"""The device that means: over all that this machine has, block by block."""
TF32 = "tf32"
"""The precision that means: weights in float32, products of a CUDA device rounded to 10 bits of mantissa."""
DTYPES = {"float32": torch.float32, TF32: torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
_PARTS = ("config.json", "tokenizer.json")
_SETTINGS = (
    *("generation_config.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("chat_template.json", "vocab.json", "vocab.txt", "merges.txt"),
)
"""Further files of a model's folder that say how texts become tokens, and where they end."""
WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"
"""Environment variable that cuBLAS reads when a process first uses it; without it, it may add in any order."""
_NOT_HERE = (OSError, ValueError, LookupError, AttributeError, ImportError, StopIteration, UserError)
"""Errors with which transformers says that it has no files of a model, or cannot read them."""
Attention = Literal["eager", "sdpa"]
"""How attention is computed: matrix products one after the other, or PyTorch's fused kernels."""


class LoadedModel(NamedTuple):
    """A model with its tokenizer; ``revision`` names the very weights and configuration, None where nothing does."""

    model: Any
    tokenizer: Any
    revision: str | None


def load(
    name: str,
    *,
    device: torch.device | str,
    dtype: torch.dtype,
    attention: Attention | None = None,
    trust_remote_code: bool = False,
) -> LoadedModel:
    """Load a decoder: ``embedded``, ``local``, a folder, a GGUF file, or the name of a model on the hub.

    Args:
        name: Which model; weights are read from safetensors only (GGUF files are converted to them once).
        device: A device, or ``map``: blocks are spread over the devices at hand (accelerate).
        dtype: Type of the weights.
        attention: How attention is computed; as transformers chooses where it is not given.
        trust_remote_code: Run code that the model brings along.

    Raises:
        ModelError: there is no such model, it has no safetensors weights, it is no decoder, it does not fit.
    """
    from transformers import AutoModelForCausalLM

    source = source_of(name)
    kind = hub_options(source) | {"trust_remote_code": trust_remote_code}
    if attention is not None:
        kind["attn_implementation"] = attention
    spread: dict[str, Any] = {"device_map": "auto"} if device == SPREAD else {}
    if isinstance(device, torch.device) and device.type == "cuda":
        spread = {"device_map": {"": device}}  # read straight to the card, not through the memory of the host
    tokenizer = load_tokenizer(name, trust_remote_code=trust_remote_code)
    decoder: Any = AutoModelForCausalLM  # its factories have no types
    try:
        with quiet_transformers():
            model, report = decoder.from_pretrained(
                source, dtype=dtype, use_safetensors=True, output_loading_info=True, **kind, **spread
            )
    except Exception as error:  # noqa: BLE001 - damaged files end in errors of every kind, also of other libraries
        raise _explain(name, error) from None
    _refuse_missing(report["missing_keys"], name)
    if device == SPREAD:
        _refuse_offloaded(model, name)
    else:
        model.to(device)
    folder = Path(source)
    revision = folder_revision(folder) if folder.is_dir() else getattr(model.config, "_commit_hash", None)
    return LoadedModel(model, tokenizer, revision)


def other_attention(model: Any, asked: Attention | None) -> str:
    """The attention that was asked for, where transformers would not have chosen it; else empty.

    Figures differ: token log-probabilities of SmolLM2 by 5e-6 in float32 and by 0.14 in bfloat16 between ``eager`` and
    ``sdpa``, on a CPU.
    """
    usual = "sdpa" if getattr(model, "_supports_sdpa", False) else "eager"
    return "" if asked in (None, usual) else asked


def load_tokenizer(name: str, *, trust_remote_code: bool = False) -> Any:
    """A model's fast tokenizer, without its weights; names as for ``load``.

    Raises:
        ModelError: there is no such model, or its tokenizer gives no character offsets.
    """
    from transformers import AutoTokenizer

    try:
        source = source_of(name)
        with quiet_transformers():
            tokenizer: Any = AutoTokenizer.from_pretrained(
                source, trust_remote_code=trust_remote_code, **hub_options(source)
            )
    except Exception as error:  # noqa: BLE001 - as for weights
        raise _explain(name, error) from None
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError("the tokenizer gives no character offsets", where=name, fix="the model needs a fast tokenizer")
    return tokenizer


def source_of(name: str) -> str:
    """What transformers is asked for: the folder of a converted model, else the name itself."""
    if not name.strip():
        raise ModelError("no model is named", allowed="embedded, local, a folder, a GGUF file or a hub name")
    if file := model_file(name):
        return str(_converted(file, converted_folder(file, name)))
    path = Path(name).expanduser()
    return str(path) if path.exists() else name


def hub_options(source: str) -> dict[str, Any]:
    """What transformers is told of a model that may be on the hub: not to ask where there is no network.

    Its client asks for every file six times before it gives up, 24 s each.
    """
    return {} if Path(source).exists() or hub_is_reachable() else {"local_files_only": True}


@cache
def hub_is_reachable() -> bool:
    """Whether the hub answers; asked once a process. ``HF_HUB_OFFLINE`` says no."""
    from huggingface_hub import constants, get_session

    try:
        return not constants.HF_HUB_OFFLINE and bool(get_session().head(constants.ENDPOINT, timeout=10))
    except Exception:  # noqa: BLE001 - the network library raises errors of its own
        return False


def _refuse_missing(weights: Collection[str], name: str) -> None:
    """Weights that the files lack are drawn at random by transformers: the model would be another one."""
    if weights:
        count = f"{len(weights)} weight{'s' * (len(weights) != 1)}"
        raise ModelError(
            f"the files lack {count} of the model ({min(weights)} is the first)",
            where=name,
            fix="fetch them again, or name a model that was saved with its language-model head",
        )


def _refuse_offloaded(model: Any, name: str) -> None:
    """Weights that stay on the disk or are moved in for each pass cannot be edited."""
    away = [n for n, p in model.named_parameters() if p.device.type == "meta"]
    if away:
        raise ModelError(
            f"{len(away)} of the weights do not fit into the devices at hand ({away[0]} is the first)",
            where=name,
            fix="use dtype = 'bfloat16', more devices, or a smaller model",
        )


def refuse_nan(model: Any, name: str) -> None:
    """Weights that are not numbers make no score, and texts that mean nothing; a sum shows them without a copy."""
    named = model.named_parameters()
    weights = [(n, p) for n, p in named if p.device.type != "meta" and p.element_size() > 1]  # 8 bits have no sum
    if broken := [n for n, p in weights if p.sum().isnan() and p.isnan().any()]:
        count = f"{len(broken)} weight{'s hold' if len(broken) > 1 else ' holds'} NaN"
        raise ModelError(
            f"{count} ({broken[0]} is the first): no figure of this model means anything",
            where=name,
            fix="fetch or save it again",
        )


def pick_device(device: str) -> torch.device | str:
    """``auto``: CUDA where there is one, else the CPU; ``map``: over all devices; anything else must exist.

    Raises:
        ModelError: the device is unknown or not on this machine.
    """
    if device == SPREAD:
        return SPREAD
    picked = check_device_name(device) or torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if picked.type == "cuda" and not torch.cuda.is_available():
        raise ModelError("no CUDA device is at hand", where=device, fix="use device = 'cpu' or 'auto'")
    if picked.type == "cuda" and (picked.index or 0) >= torch.cuda.device_count():
        raise ModelError(f"there are {torch.cuda.device_count()} CUDA devices", where=device)
    return picked


def check_device_name(device: str) -> torch.device | None:
    """The device of a name, whether or not this machine has it; None for ``auto`` and ``map``, which name none.

    Raises:
        ModelError: no device is called so.
    """
    if device in ("auto", SPREAD):
        return None
    try:
        return torch.device(device)
    except RuntimeError:
        raise ModelError(f"unknown device '{device}'", allowed="auto, cpu, cuda, cuda:0 ..., map") from None


def pick_dtype(dtype: str) -> torch.dtype:
    """A floating type by name.

    Raises:
        ModelError: for any other name.
    """
    if dtype not in DTYPES:
        raise ModelError(f"unknown dtype '{dtype}'", allowed=", ".join(DTYPES))
    return DTYPES[dtype]


def set_product_precision(dtype: str, device: torch.device | str) -> None:
    """Have this process's float32 products on CUDA devices rounded (``tf32``), or exact (any other precision).

    Raises:
        ModelError: ``tf32`` without a CUDA device.
    """
    on_cuda = device == SPREAD or (isinstance(device, torch.device) and device.type == "cuda")
    if dtype == TF32 and not (on_cuda and torch.cuda.is_available()):
        raise ModelError("tf32 is a precision of CUDA devices", where=f"device {device}", fix="use dtype = 'float32'")
    torch.set_float32_matmul_precision("high" if dtype == TF32 else "highest")


def warn_of_slow_products(dtype: torch.dtype, device: torch.device | str) -> None:
    """Say where a CPU has no products of a narrow type: there float32 is several times faster."""
    narrow = {torch.bfloat16: "_is_mkldnn_bf16_supported", torch.float16: "_is_mkldnn_fp16_supported"}.get(dtype)
    if narrow is None or device == SPREAD or torch.device(device).type != "cpu":
        return
    has_products = getattr(torch.ops.mkldnn, narrow, None) if torch.backends.mkldnn.is_available() else None  # type: ignore[no-untyped-call]
    if has_products is not None and not has_products():
        name = str(dtype).removeprefix("torch.")
        log.warning("this processor has no %s products: dtype = 'float32' is several times faster on it", name)


def leave_out_planned_attention(device: torch.device | str) -> None:
    """Keep cuDNN's attention from being chosen on CUDA devices, in this process from now on.

    PyTorch takes it for narrow types on Hopper and later cards. For every new shape it makes a plan, forward and back,
    in tenths of a second: a search meets new shapes with every group, a text with every token. The other kernels make
    none.
    """
    if device == SPREAD or (isinstance(device, torch.device) and device.type == "cuda"):
        torch.backends.cuda.enable_cudnn_sdp(False)


@contextmanager
def exact_products() -> Iterator[None]:
    """Float32 products are exact inside the block, whatever the model was loaded with."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def fix_order() -> None:
    """Have every operation of this process add in a fixed order from now on; one that cannot is named by a warning.

    A CPU does so anyway. The variable that cuBLAS reads is set where it is not: too late where a CUDA device of this
    process has multiplied matrices already.
    """
    os.environ.setdefault(WORKSPACE, ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)


@contextmanager
def fixed_order() -> Iterator[None]:
    """``fix_order`` inside the block; afterwards PyTorch is as it was."""
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    variable = os.environ.get(WORKSPACE)
    fix_order()
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        if variable is None:
            os.environ.pop(WORKSPACE, None)


def _explain(name: str, error: Exception) -> ModelError:
    if out_of_memory(error):
        fix = "use dtype = 'bfloat16', device = 'map', or a smaller model"
        return ModelError("the model does not fit into the memory of the device", where=name, fix=fix)
    text = " ".join(str(error).split()) or type(error).__name__
    if "Unrecognized configuration class" in text or "does not recognize this architecture" in text:
        return ModelError("this is no decoder that transformers knows", where=name, fix="name a causal language model")
    if "Repo id must be" in text:
        return ModelError("there is no such folder", where=name, fix="name a folder that holds a model, or a hub name")
    if "trust_remote_code" in text:
        fix = "read it, load it with transformers (trust_remote_code=True) and give the model to scedit.evaluate"
        return ModelError("the model brings its own code", where=name, fix=fix)
    if "safetensors" in text:
        return ModelError(
            "the model has no safetensors weights", where=name, fix="convert them with transformers first"
        )
    if Path(name).exists():
        return ModelError(f"the folder holds no readable model: {text[:200]}", where=name)
    if not hub_is_reachable():
        return ModelError(
            "no model of this name is on this machine, and the hub cannot be reached",
            where=name,
            fix=f"check the name and the network, or name a folder or '{EMBEDDED}'",
        )
    return ModelError(
        f"the model cannot be loaded: {text[:200]}",
        where=name,
        fix=f"name a folder, a model on the hub, or '{EMBEDDED}'",
    )


def model_depth(name: str) -> int | None:
    """Number of layers (blocks) of a model, or None if no configuration of it is on this machine.

    Nothing is downloaded and no weights are read; of a GGUF file its fields are (about 3 s) until it is converted.

    Example:
        >>> model_depth("a-model-that-nobody-has") is None
        True
    """
    from transformers import AutoConfig

    try:
        files = _files_of(name)
        if files.gguf is not None:
            return gguf_depth(files.gguf, files.gguf.stat().st_mtime_ns)
        with quiet_transformers():
            config: Any = AutoConfig.from_pretrained(files.source, local_files_only=True)
        depth = config.get_text_config().num_hidden_layers
    except _NOT_HERE as error:
        log.debug("the depth of %s is not known before it is loaded: %s", name, error)
        return None
    return depth if isinstance(depth, int) and depth > 0 else None


def may_have_chat(name: str) -> bool:
    """Whether a model has a chat template; True where its tokenizer is not on this machine, or not converted yet.

    Nothing is downloaded.

    Example:
        >>> may_have_chat("a-model-that-nobody-has")
        True
    """
    from transformers import AutoTokenizer

    try:
        files = _files_of(name)
        with quiet_transformers():
            tokenizer: Any = AutoTokenizer.from_pretrained(files.source, local_files_only=True)
        return bool(tokenizer.chat_template)
    except _NOT_HERE as error:
        log.debug("whether %s has a chat template is not known before it is loaded: %s", name, error)
        return True


def known_revision(name: str) -> str | None:
    """The revision of a model whose folder is on this machine, without loading it; None of any other.

    Example:
        >>> known_revision("a-model-that-nobody-has") is None
        True
    """
    try:
        folder = Path(_files_of(name).source)
    except _NOT_HERE:
        return None
    return folder_revision(folder) if folder.is_dir() else None


class _ModelFiles(NamedTuple):
    """Folder of a model, or its name on the hub; and its GGUF file where that is not converted yet."""

    source: str
    gguf: Path | None


def _files_of(name: str) -> _ModelFiles:
    file = model_file(name)
    folder = Path(name).expanduser() if file is None else converted_folder(file, name)
    return _ModelFiles(str(folder), None) if folder.exists() else _ModelFiles(name, file)


def _converted(gguf: Path, folder: Path) -> Path:
    """The folder with a GGUF model in float32 safetensors; converted on first use (the embedded model: about 20 s)."""
    if folder.is_dir():
        return folder
    log.info("converting %s to %s (once; about 20 s for 135 million parameters)", gguf.name, folder)
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

    decoder: Any = AutoModelForCausalLM
    try:
        with quiet_transformers():
            quantised, report = decoder.from_pretrained(
                str(gguf.parent), gguf_file=gguf.name, dtype=torch.float32, output_loading_info=True
            )
            tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
    except ImportError as error:
        raise ModelError(
            f"reading GGUF needs another package: {error}", fix="run: pip install 'scedit[local]'"
        ) from None
    except (ValueError, LookupError, OSError, RuntimeError, TypeError, AttributeError, struct.error) as error:
        raise ModelError(
            f"the GGUF file cannot be read: {' '.join(str(error).split())[:200]}",
            where=str(gguf),
            fix="use the model's safetensors folder or hub name",
        ) from None
    _refuse_missing(report["missing_keys"], str(gguf))
    config = quantised.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config  # the weights are plain float32 now; kept, it would ask for the GGUF again
    plain = type(quantised)(config)
    plain.load_state_dict(quantised.state_dict())
    with quiet_transformers():
        plain.save_pretrained(target)
        tokenizer.save_pretrained(target)


def folder_revision(folder: Path) -> str:
    """Digest of all files in a folder that a model's answers depend on: weights, configuration, tokenizer, own code.

    Of a folder that this program converted from a GGUF file it is the digest of the first three alone.
    """
    converted = folder.resolve().parent == (cache_dir() / "models").resolve()
    parts = [
        f"{path.name} {remembered_sha256(path)}"
        for path in sorted(folder.iterdir())
        if path.name in _PARTS or path.suffix == ".safetensors" or (not converted and _is_setting(path))
    ]
    return digest(parts)[:20]


def _is_setting(path: Path) -> bool:
    return path.name in _SETTINGS or path.suffix in (".jinja", ".model", ".py", ".tiktoken")
