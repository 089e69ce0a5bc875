"""Language models that are one GGUF file on this machine: how they are named, where they lie, what they are called.

A name says which file: ``embedded`` (of the ``local`` extra), ``local`` (fetched once, see ``model_download``),
``gguf:PATH`` and ``hf:OWNER/REPOSITORY/FILE``. Records never hold a path: they hold a label that stands for the file's
contents.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from curation.files.checksums import remembered_sha256
from curation.files.model_packages import EMBEDDED, EMBEDDED_LABEL, cache_dir, embedded_gguf
from schemas.core.errors import MissingPackage, ModelError, UserError

LOCAL = "local"
LOCAL_LABEL = "Qwen2.5-Coder-1.5B-Instruct (local, Q4_K_M)"
LOCAL_FILE = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
LOCAL_SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
LOCAL_BYTES = 1_117_320_768
FORMS = "embedded, local, gguf:PATH or hf:OWNER/REPOSITORY/FILE"

_MAGIC = b"GGUF"


class HubFile(NamedTuple):
    """One file of a hub repository: ``OWNER/REPOSITORY`` and the file's path in it."""

    repository: str
    file: str


def names_a_file(name: str) -> bool:
    """Whether a model's name means a file on this machine rather than a model behind an endpoint.

    Example:
        >>> names_a_file("local"), names_a_file("gguf:my.gguf"), names_a_file("gpt-4.1")
        (True, True, False)
    """
    return name in (EMBEDDED, LOCAL) or name.startswith(("gguf:", "hf:"))


def local_gguf() -> Path:
    """The file that ``local`` means, as ``scedit model fetch local`` left it.

    Raises:
        ModelError: it is not here, or has another size than the pinned file.
    """
    path = cache_dir() / "models" / LOCAL_FILE
    fix = "run: scedit model fetch local (1.06 GB, once)"
    if not path.is_file():
        raise ModelError("the model 'local' is not on this machine", fix=fix)
    if path.stat().st_size != LOCAL_BYTES:
        raise ModelError(
            f"the file of the model 'local' has {path.stat().st_size:,} bytes, not {LOCAL_BYTES:,}",
            where=str(path),
            fix=fix,
        )
    return path


def hub_file(name: str) -> HubFile:
    """The parts of ``hf:OWNER/REPOSITORY/FILE``.

    Raises:
        UserError: the name has another form, or the file is no GGUF file.

    Example:
        >>> hub_file("hf:owner/some-GGUF/q4/model.gguf")
        HubFile(repository='owner/some-GGUF', file='q4/model.gguf')
    """
    owner, _, rest = name.removeprefix("hf:").partition("/")
    repository, _, file = rest.partition("/")
    if not (owner and repository and file) or ".." in file.split("/"):
        raise UserError(f"'{name}' names no file of a hub repository", allowed="hf:OWNER/REPOSITORY/FILE")
    if not file.lower().endswith(".gguf"):
        raise UserError(f"'{name}' is no GGUF file", allowed="a file that ends with .gguf")
    return HubFile(f"{owner}/{repository}", file)


def gguf_of(name: str) -> Path:
    """The file that a model's name means.

    Args:
        name: ``embedded``, ``local``, ``gguf:PATH`` or ``hf:OWNER/REPOSITORY/FILE``.

    Raises:
        UserError: the name means no file, or the file is no GGUF file.
        ModelError: the file is not on this machine; the message says how to get it.
    """
    if name == EMBEDDED:
        return embedded_gguf()
    if name == LOCAL:
        return local_gguf()
    if name.startswith("gguf:"):
        if not name.removeprefix("gguf:").strip():
            raise UserError("'gguf:' names no file", allowed="gguf:PATH")
        return _check_file(Path(name.removeprefix("gguf:")).expanduser())
    if name.startswith("hf:"):
        return _check_file(_from_hub_cache(name))
    raise UserError(f"'{name}' names no model file", allowed=FORMS)


def model_file(name: str) -> Path | None:
    """The GGUF file that a model to be loaded here is; None for a folder and for a hub name.

    Args:
        name: As for ``gguf_of``, or the bare path of a GGUF file. A folder comes first (not for ``embedded``).

    Raises:
        UserError, ModelError: as ``gguf_of``.

    Example:
        >>> model_file("gpt2") is None
        True
    """
    path = Path(name).expanduser()
    if name != EMBEDDED and path.is_dir():
        return None
    if names_a_file(name):
        return gguf_of(name)
    return _check_file(path) if path.suffix.lower() == ".gguf" else None


def label_of(name: str) -> str:
    """What a model file is called in records: the model's name, or the file's name with a digest of its contents.

    Two files of one name have two labels, and a file that is moved keeps its label.

    Raises:
        UserError, ModelError: as ``gguf_of``; the two pinned models need not be here.
    """
    if name == EMBEDDED:
        return EMBEDDED_LABEL
    if name == LOCAL:
        return LOCAL_LABEL
    path = gguf_of(name)
    shown = "/".join(hub_file(name)) if name.startswith("hf:") else path.name
    return f"{shown} (GGUF, {remembered_sha256(path)[:12]})"


def _check_file(path: Path) -> Path:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise ModelError(f"the model file cannot be read: {reason}", where=str(path)) from None
    if magic != _MAGIC:
        raise UserError("this is no GGUF file", where=str(path), allowed="a model in the GGUF format")
    return path


def _from_hub_cache(name: str) -> Path:
    wanted = hub_file(name)
    try:
        from huggingface_hub import try_to_load_from_cache
        from huggingface_hub.errors import HFValidationError
    except ImportError:
        raise MissingPackage("huggingface_hub", extra="eval") from None
    try:
        file_path = try_to_load_from_cache(wanted.repository, wanted.file)
    except HFValidationError:
        raise UserError(f"'{wanted.repository}' is no name of a hub repository", allowed="OWNER/REPOSITORY") from None
    if not isinstance(file_path, str):
        raise ModelError(f"'{name}' is not on this machine", fix=f"run: scedit model fetch {name}")
    return Path(file_path)
