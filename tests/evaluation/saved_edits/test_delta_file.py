"""Changes as a file: read back exactly, in their order; other files are refused in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from evaluation.edits.weight_deltas import DenseDelta, LowRankDelta
from evaluation.models.language_model import LM
from evaluation.saved_edits.formats import FILE, load_deltas, write_deltas
from schemas.core.errors import DataError


def test_changes_come_back_exactly(tiny: LM, tmp_path: Path) -> None:
    at = tiny.layout
    deltas = [LowRankDelta(at.weight(n % 3), torch.randn(at.width, 2), torch.randn(at.inner, 2)) for n in range(12)]
    deltas_all = [*deltas, DenseDelta(at.weight(0), torch.randn(at.width, at.inner))]
    write_deltas(deltas_all, tmp_path)
    back = load_deltas(tmp_path).deltas
    assert [d.weight for d in back] == [d.weight for d in deltas_all] and [type(d) for d in back] == [
        type(d) for d in deltas_all
    ]
    assert all(torch.equal(a.matrix(), b.matrix()) for a, b in zip(back, deltas_all, strict=True))


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        load_deltas(tmp_path)
    (tmp_path / FILE).write_bytes(b"\x08")
    with pytest.raises(DataError, match="cannot be read"):
        load_deltas(tmp_path)
    save_file({"a": torch.zeros(1)}, tmp_path / FILE)
    with pytest.raises(DataError, match="no file of changes"):
        load_deltas(tmp_path)
    for name in ("a", "x/y/left", "0/w/left", "0/w/other"):
        save_file({name: torch.zeros(1, 1)}, tmp_path / FILE, metadata={"format": "weight deltas 1"})
        with pytest.raises(DataError, match="cannot be read"):
            load_deltas(tmp_path)
