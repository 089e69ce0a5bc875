"""What methods have in common that read a trained file: which one, what it was trained on, its format."""

from __future__ import annotations

import json
import logging
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

from torch import Tensor
from typing_extensions import override

from curation.case_sources.support import TrainingData
from curation.files.artifact_cache import remembered_sha256
from curation.files.atomic import write_bytes
from evaluation.editors.base import Editor
from schemas.core.errors import DataError, UserError
from schemas.core.ids import content_id

log = logging.getLogger(__name__)

FORMAT = 1
SHIPPED = "shipped:"


class CheckpointEditor(Editor):
    """A method whose option ``checkpoint`` names a trained file; without one it trains on the run's support.

    Attributes:
        shipped_in: The package whose files ``shipped:NAME`` means.
    """

    trainable: ClassVar[bool] = True
    shipped_in: ClassVar[str]
    _support: tuple[Any, ...] = ()

    @classmethod
    @override
    def wants_support(cls, options: Mapping[str, Any]) -> bool:
        return options.get("checkpoint") is None

    @classmethod
    @override
    def training_data(cls, options: Mapping[str, Any]) -> TrainingData | None:
        named = options.get("checkpoint")
        return None if named is None else cls.trained_on(cls.checkpoint_path(str(named)))

    @classmethod
    def trained_on(cls, path: Path | str) -> TrainingData:
        """What the file was trained on.

        Raises:
            DataError: it is no trained file of this method.
        """
        _, manifest = read_tensors(path)
        try:
            trained, texts = manifest["trained"], frozenset(manifest.get("texts", ()))
            keys, subjects = frozenset(manifest["keys"]), frozenset(manifest["subjects"])
            return TrainingData(trained["name"], trained["digest"], keys, subjects, texts)
        except (KeyError, TypeError) as error:
            raise not_trained(cls.name, f"{error} is missing", path) from None

    @classmethod
    def checkpoint_path(cls, name: str | Path) -> Path:
        """Where a named checkpoint is.

        Raises:
            UserError: no such file comes with the program.
        """
        name = str(name)
        if not name.startswith(SHIPPED):
            return Path(name).expanduser()
        folder = files(cls.shipped_in)
        known = sorted(SHIPPED + file.name for file in folder.iterdir() if file.name.endswith(".safetensors"))
        if name not in known:
            raise UserError(
                f"no trained file '{name}' of this method comes with the program",
                where="params.checkpoint",
                allowed=", ".join(known),
                fix="take one of these, or name a file of your own",
            )
        return Path(str(folder / name.removeprefix(SHIPPED)))

    @property
    @override
    def components(self) -> Mapping[str, str]:
        name = self.params.checkpoint
        return {} if name is None else {"checkpoint": remembered_sha256(self.checkpoint_path(name))}

    @abstractmethod
    def identity(self, data: str) -> dict[str, Any]:
        """All that a training depends on: method, version, options, and ``data``, the digest of the cases."""

    @abstractmethod
    def train(
        self,
        cases: Sequence[Any],
        *,
        name: str,
        out: Path | str,
        on_step: Callable[[Any], None] | None = None,
        minutes: float | None = None,
    ) -> Any:
        """Train on cases and write a checkpoint."""

    def checkpoint_file(self) -> Path:
        """The checkpoint that is named, or that of a training on the support, kept in the cache folder.

        Raises:
            UserError: there is neither.
        """
        if self.params.checkpoint is not None:
            return self.checkpoint_path(self.params.checkpoint)
        if not self._support:
            raise UserError(
                "there is no trained file for this model and these options",
                where=self.name,
                fix=f"train one (scedit model train --editors {self.name}), set its file as params.checkpoint, "
                "or declare support to train on",
            )
        identity = self.identity(TrainingData.of("support", self._support).digest)
        path = self.cache.folder / f"{self.name}-{content_id(self.name, identity)}.safetensors"
        if not path.is_file():
            log.warning("training %s on %d cases of the support (once)", self.name, len(self._support))
            self.train(self._support, name="support", out=path, on_step=_log)
        return path


def _log(step: Any) -> None:
    log.warning("step %d of %d, %.0f s left", step.done, step.of, step.left)


def not_trained(method: str, reason: object, path: Path | str) -> DataError:
    """The error about a file that is no trained one of a method."""
    return DataError(f"no trained file of '{method}': {reason}", where=str(path))


def write_checkpoint(
    path: Path | str, tensors: dict[str, Tensor], data: TrainingData, *, cases: int, **manifest: Any
) -> None:
    """Write what was learnt, with what it was learnt from.

    Args:
        path: The file.
        tensors: The weights.
        data: What they were trained on.
        cases: How many cases that were.
        manifest: What the method keeps besides, as JSON values; ``identity`` is one of them.
    """
    trained = {"name": data.name, "digest": data.digest, "cases": cases}
    seen = {name: sorted(getattr(data, name)) for name in ("keys", "subjects", "texts")}
    write_tensors(path, tensors, {"format": FORMAT, "trained": trained, **seen, **manifest})


def write_tensors(path: Path | str, tensors: dict[str, Tensor], manifest: dict[str, Any]) -> None:
    """A safetensors file with a JSON manifest in its header; it is replaced as a whole.

    Raises:
        UserError: the file cannot be written.
    """
    from safetensors.torch import save

    data = save({k: v.detach().cpu().contiguous() for k, v in tensors.items()}, {"manifest": json.dumps(manifest)})
    write_bytes(Path(path), data)


def read_tensors(path: Path | str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and manifest of a file that ``write_tensors`` wrote.

    Raises:
        DataError: there is none, or it is something else.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            manifest = json.loads((file.metadata() or {})["manifest"])
            return {name: file.get_tensor(name) for name in file.keys()}, manifest  # noqa: SIM118 - it is no dictionary
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise DataError(f"not a file of this program that can be read: {error}", where=str(path)) from None
