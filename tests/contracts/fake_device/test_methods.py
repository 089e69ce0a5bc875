"""Every method does nothing that a CUDA device refuses, whatever the layout and type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from evaluation.editors import EDITORS
from evaluation.editors.locate_edit.stabilised import CarriedState
from evaluation.edits.edit import CarryingEdit
from evaluation.edits.weight_deltas import LowRankDelta
from schemas.core.errors import UserError
from tests.contracts.fake_device.exercise import FLOAT32_ONLY, exercise
from tests.contracts.test_editors import editor, requests_of
from tests.support.fake_device import fake_gpu
from tests.support.tiny import make

LAYOUTS = ("llama", "gpt2")
TYPES = (torch.float32, torch.bfloat16)
METHODS = EDITORS.names()
QUICK = [(method, LAYOUTS[n % 2], TYPES[n // 2 % 2]) for n, method in enumerate(METHODS)]


@pytest.mark.parametrize(("method", "kind", "dtype"), QUICK)
def test_nothing_is_refused(method: str, kind: str, dtype: torch.dtype, tmp_path: Path) -> None:
    if method in FLOAT32_ONLY:
        dtype = torch.float32
    exercise(method, kind, dtype, tmp_path)


@pytest.mark.parametrize("method", sorted(FLOAT32_ONLY))
def test_training_of_narrow_weights_is_refused(method: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="rounded away"):
        exercise(method, "llama", torch.bfloat16, tmp_path)


@pytest.mark.parametrize("method", ["memit", "anyedit"])
def test_a_change_of_the_residual_is_refused_behind_a_norm(method: str, tmp_path: Path) -> None:
    with pytest.raises(UserError):
        exercise(method, "gemma2", torch.float32, tmp_path)


def test_changes_that_lie_elsewhere_are_stabilised_on_the_card(tmp_path: Path) -> None:
    """As those read from a file, which lie in the memory of the host."""
    draw = torch.Generator().manual_seed(2)
    with fake_gpu() as machine:
        lm = make("llama")
        lm.model.to("cuda")
        instance = editor("memit", lm, tmp_path, steps=2, stabilise=["sphere", "prune"], layers=[1])
        weight = lm.layout.weight(1)
        read = LowRankDelta(weight, 99 * torch.randn(32, 2, generator=draw), torch.randn(48, 2, generator=draw))
        before = CarryingEdit((read,), {}, CarriedState({weight: read}))
        with before.on(lm):
            edit: Any = instance.edit_after(requests_of("memit")[:1], [before])
    assert not machine.counts.refused and list(edit.carried.damping) == [weight], "large enough to be damped"
    added = edit.carried.total[weight].matrix() - read.matrix()
    assert 0 < added.norm() < 0.1 * read.matrix().norm(), "what was read and one edit"


def test_the_machine_is_left_as_it_was() -> None:
    with fake_gpu():
        pass
    assert torch.ones(1).device.type == "cpu"
