"""A method with a trained file: support is wanted only without one, and shipped files lie in its package."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.editors.checkpoints import CheckpointEditor
from evaluation.editors.hypernetwork.mend import Mend
from evaluation.editors.routed.serac import Serac
from schemas.core.errors import UserError


@pytest.mark.parametrize("kind", [Mend, Serac])
def test_a_name_means_a_file_or_one_of_the_package(kind: type[CheckpointEditor]) -> None:
    with pytest.raises(UserError, match="no trained file 'shipped:x.safetensors' of this method") as error:
        kind.checkpoint_path("shipped:x.safetensors")
    name = str(error.value.allowed).split(", ")[0]
    shipped = kind.checkpoint_path(name)
    assert name == f"shipped:{shipped.name}" and shipped.is_file() and shipped.parent.joinpath("__init__.py").is_file()
    assert kind.__module__.startswith(kind.shipped_in + ".")
    assert kind.checkpoint_path("~/x") == Path.home() / "x"
