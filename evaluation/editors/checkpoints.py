"""What methods have in common that read a trained file: which one, where it is, what it was trained on, its format."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

from torch import Tensor

from curation.files.atomic import write_bytes
from curation.files.checksums import remembered_sha256
from evaluation.editors.base import Editor
from evaluation.editors.training_data import TrainingData
from schemas.core.errors import DataError, UserError

SHIPPED = "shipped:"


class CheckpointEditor(Editor):
    """A method whose option ``checkpoint`` names a trained file; without one it trains on the run's support.

    Attributes:
        shipped_in: The package whose files ``shipped:NAME`` means.
    """

    trainable: ClassVar[bool] = True
    shipped_in: ClassVar[str]

    @classmethod
    def wants_support(cls, options: Mapping[str, Any]) -> bool:
        """Only where there is no checkpoint."""
        return options.get("checkpoint") is None

    @classmethod
    def training_data(cls, options: Mapping[str, Any]) -> TrainingData | None:
        """What the named checkpoint was trained on."""
        named = options.get("checkpoint")
        return None if named is None else cls.trained_on(cls.checkpoint_path(str(named)))

    @classmethod
    @abstractmethod
    def trained_on(cls, path: Path) -> TrainingData:
        """What the file was trained on.

        Raises:
            DataError: it is no trained file of this method.
        """

    @classmethod
    def checkpoint_path(cls, name: str) -> Path:
        """Where a named checkpoint lies.

        Raises:
            UserError: no such file comes with the program.
        """
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
    def components(self) -> Mapping[str, str]:
        """The checkpoint's digest, where one is named."""
        name = self.params.checkpoint
        return {} if name is None else {"checkpoint": remembered_sha256(self.checkpoint_path(name))}


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
