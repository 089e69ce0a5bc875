"""A folder of computed things, each kept under all it depends on, with a manifest, written whole or not at all."""

from __future__ import annotations

import functools
import hashlib
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from curation.files.atomic import write_bytes
from schemas.core.errors import UserError
from schemas.core.ids import content_id, slug

log = logging.getLogger(__name__)


class Cache:
    """Computed values in a folder.

    A value is kept under its *identity*: JSON values naming all it depends on (model revision, layer, corpus digest
    ...). Beside the data lies a manifest with the identity, the data's SHA-256 and facts about it. What does not agree
    with its manifest counts as absent and is computed anew.

    Args:
        folder: Where; made on the first write.

    Example:
        >>> import tempfile
        >>> cache = Cache(Path(tempfile.mkdtemp()))
        >>> cache.save_json("words", {"model": "m"}, ["a", "b"])
        >>> cache.load_json("words", {"model": "m"})
        ['a', 'b']
        >>> cache.load_json("words", {"model": "n"}) is None
        True
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    def load_json(self, kind: str, identity: Mapping[str, Any]) -> Any | None:
        """The JSON value kept under an identity, or None."""
        data = self._read(kind, identity, suffix=".json")
        return None if data is None else json.loads(data)

    def save_json(
        self, kind: str, identity: Mapping[str, Any], value: Any, *, facts: Mapping[str, Any] | None = None
    ) -> None:
        """Keep a JSON value."""
        data = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
        self._write(kind, identity, data, suffix=".json", facts=facts)

    def load_tensors(self, kind: str, identity: Mapping[str, Any]) -> dict[str, Any] | None:
        """The tensors kept under an identity by name, on the CPU, or None."""
        data = self._read(kind, identity, suffix=".safetensors")
        if data is None:
            return None
        from safetensors.torch import load

        return load(data)

    def save_tensors(
        self,
        kind: str,
        identity: Mapping[str, Any],
        tensors: Mapping[str, Any],
        *,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Keep tensors by name."""
        from safetensors.torch import save

        data = save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})
        self._write(kind, identity, data, suffix=".safetensors", facts=facts)

    def manifest(self, kind: str, identity: Mapping[str, Any]) -> dict[str, Any] | None:
        """What is known of a kept value: identity, SHA-256, facts; None where nothing is kept."""
        try:
            manifest = json.loads(self._manifest_path(kind, identity).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return manifest if isinstance(manifest, dict) and manifest.get("identity") == _plain_values(identity) else None

    def _stem(self, kind: str, identity: Mapping[str, Any]) -> str:
        return f"{slug(kind)}-{content_id(kind, _plain_values(identity))}"

    def _manifest_path(self, kind: str, identity: Mapping[str, Any]) -> Path:
        return self.folder / f"{self._stem(kind, identity)}.manifest.json"

    def _read(self, kind: str, identity: Mapping[str, Any], *, suffix: str) -> bytes | None:
        manifest, path = self.manifest(kind, identity), self.folder / (self._stem(kind, identity) + suffix)
        if manifest is None or not path.is_file():
            return None
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != manifest.get("sha256"):
            log.warning("%s does not agree with its manifest: it is computed anew", path)
            return None
        return data

    def _write(
        self, kind: str, identity: Mapping[str, Any], data: bytes, *, suffix: str, facts: Mapping[str, Any] | None
    ) -> None:
        manifest = {
            "kind": kind,
            "identity": _plain_values(identity),
            "sha256": hashlib.sha256(data).hexdigest(),
            "facts": dict(facts or {}),
        }
        text = json.dumps(manifest, ensure_ascii=False, indent=1).encode()
        last = self._manifest_path(kind, identity)  # without it the data counts as absent
        for path, content in ((self.folder / (self._stem(kind, identity) + suffix), data), (last, text)):
            write_bytes(path, content, "the cache", fsync=False, fix="name another with SCEDIT_CACHE")


def _plain_values(identity: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(dict(identity)))


def sha256(path: Path) -> str:
    """SHA-256 of a file (64 hexadecimal digits), read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remembered_sha256(path: Path) -> str:
    """As ``sha256``; a process reads the file again only where the path, the size or a time of change is another one.

    Archives and copies may set a file's time (``mtime``) to that of another; the file system's own (``ctime``) they
    cannot.

    Raises:
        UserError: the file cannot be read.
    """
    try:
        stat = path.stat()
        return _sha256_of(path.resolve(), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
    except OSError as error:
        raise UserError(f"the file cannot be read: {error.strerror}", where=str(path)) from None


@functools.lru_cache(maxsize=256)
def _sha256_of(path: Path, *_: int) -> str:
    return sha256(path)
