"""Every method does nothing that a CUDA device refuses, whatever the layout and type; counts of waits are bounded."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch

from evaluation.editors import EDITORS
from evaluation.edits.edit import WeightEdit
from evaluation.edits.weight_deltas import LowRankDelta
from schemas.core.errors import UserError
from tests.contracts.pretended_device.exercise import FLOAT32_ONLY, exercise
from tests.contracts.test_editors import editor, requests_of
from tests.support.pretended_device import pretended
from tests.support.tiny import make

LAYOUTS = ("llama", "gpt2", "gemma2", "mistral", "neo")
TYPES = (torch.float32, torch.bfloat16)
METHODS = EDITORS.names()
NOT_FOR_GEMMA2 = {"memit", "emmet", "alphaedit", "anyedit"}  # refused: a norm stands behind the projection
QUICK = [(method, LAYOUTS[n % 2], TYPES[n // 2 % 2]) for n, method in enumerate(METHODS)]
EVERY = [one for one in product(METHODS, LAYOUTS, TYPES) if one not in QUICK]
WIDE = EVERY if os.environ.get("SCEDIT_EVERY_LAYOUT") else EVERY[::8]  # one or two a method, in all layouts


@pytest.mark.parametrize(("method", "kind", "dtype"), QUICK)
def test_nothing_is_refused(method: str, kind: str, dtype: torch.dtype, tmp_path: Path) -> None:
    if method in FLOAT32_ONLY:
        dtype = torch.float32
    exercise(method, kind, dtype, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "kind", "dtype"), WIDE)
def test_nothing_is_refused_in_all_layouts(method: str, kind: str, dtype: torch.dtype, tmp_path: Path) -> None:
    if kind == "gemma2" and method in NOT_FOR_GEMMA2:
        with pytest.raises(UserError):
            exercise(method, kind, dtype, tmp_path)
        return
    if method in FLOAT32_ONLY and dtype != torch.float32:
        with pytest.raises(UserError, match="rounded away"):
            exercise(method, kind, dtype, tmp_path)
        return
    exercise(method, kind, dtype, tmp_path)


def test_changes_that_lie_elsewhere_are_stabilised_on_the_card(tmp_path: Path) -> None:
    """As those read from a file, which lie in the memory of the host."""
    draw = torch.Generator().manual_seed(2)
    with pretended() as machine:
        lm = make("llama")
        lm.model.to("cuda")
        instance = editor("memit", lm, tmp_path, steps=2, stabilise=["sphere", "prune"], layers=[1])
        weight = lm.layout.weight(1)
        read = LowRankDelta(weight, 99 * torch.randn(32, 2, generator=draw), torch.randn(48, 2, generator=draw))
        before = WeightEdit(deltas=(read,), notes={})
        with before.on(lm):
            edit: Any = instance.edit_after(requests_of("memit")[:1], [before])
    assert not machine.counts.refused and list(edit.damping) == [weight], "large enough to be damped"
    added = edit.total[weight].matrix() - read.matrix()
    assert 0 < added.norm() < 0.1 * read.matrix().norm(), "what was read and one edit"


def test_the_machine_is_left_as_it_was() -> None:
    with pretended():
        pass
    assert torch.ones(1).device.type == "cpu"
