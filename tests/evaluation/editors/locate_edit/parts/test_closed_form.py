"""The closed forms against the systems of full size that the published code solves."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from curation.files.artifact_cache import Cache
from evaluation.editors.locate_edit.parts.cholesky import factor
from evaluation.editors.locate_edit.parts.closed_form import columns
from evaluation.editors.locate_edit.parts.null_space import null_space
from schemas.core.errors import UserError
from tests.support.editors.second_moments import CPU, SIZE, moments, some_keys


def direct(keys: Tensor, c: Tensor, *, lam: float) -> Tensor:
    """(λC + KKᵀ)⁻¹K for keys [count, inner]: the published solution of a system of the keys' size."""
    k = keys.double().T
    return torch.linalg.solve(lam * c.double() + k @ k.T, k).T


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("lam", [0.5, 300.0])
def test_memit_equals_the_system_of_full_size(count: int, lam: float) -> None:
    c, keys = moments(), some_keys(4, count)
    solution = columns(keys, factor(c, CPU).solve, penalty=lam, fraction=None)
    for n in range(4):
        want = direct(keys[n], c.second, lam=lam)
        assert torch.allclose(solution.adjusted[n], want, rtol=1e-6, atol=1e-6 * float(want.abs().max()))
    products = solution.written(keys)
    if count == 1:
        assert torch.allclose(products, solution.reach / (lam + solution.reach))


@pytest.mark.parametrize("rho", [0.2, 0.9])
def test_a_fraction_is_what_it_says(rho: float) -> None:
    keys = some_keys(5, 1) * torch.tensor([0.1, 1, 2, 5, 30])[:, None, None]
    solution = columns(keys, factor(moments(), CPU).solve, penalty=None, fraction=rho)
    assert torch.allclose(solution.written(keys), torch.full((5, 1), rho, dtype=torch.float64))
    assert torch.allclose(solution.penalty, solution.reach[:, 0] * (1 - rho) / rho)
    batch = columns(some_keys(1, 3), factor(moments(), CPU).solve, penalty=None, fraction=rho)
    assert float(batch.penalty) == pytest.approx(float(batch.reach.median()) * (1 - rho) / rho)


def test_no_penalty_writes_all_keys_exactly() -> None:
    keys = some_keys(2, 4)
    solution = columns(keys, factor(moments(), CPU).solve, penalty=0.0, fraction=None)
    assert torch.allclose(
        solution.adjusted @ keys.double().mT, torch.eye(4, dtype=torch.float64).expand(2, 4, 4), atol=1e-8
    )
    with pytest.raises(UserError, match="keys of 5 facts are not independent.*give a penalty"):
        columns(torch.cat([keys, keys[:, :1]], 1), factor(moments(), CPU).solve, penalty=0.0, fraction=None)


def test_the_change_disturbs_least() -> None:
    """Of all exact changes of one key, C⁻¹'s has the smallest mean effect on the keys of plain text."""
    c, keys = moments(), some_keys(1, 1)
    best = columns(keys, factor(c, CPU).solve, penalty=0.0, fraction=None).adjusted[0, 0]
    plain = columns(keys, lambda k: k.double(), penalty=0.0, fraction=None).adjusted[0, 0]
    assert best @ c.second.double() @ best < 0.5 * (plain @ c.second.double() @ plain)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("before", [0, 2])
def test_alphaedit_equals_the_system_of_full_size(count: int, before: int, tmp_path: Path) -> None:
    space = null_space(moments(), CPU, threshold=None, share=0.05, cache=Cache(tmp_path))
    keys, lam = some_keys(3, count), 2.0
    earlier = torch.randn(before, SIZE, generator=torch.Generator().manual_seed(2))
    p = torch.eye(SIZE, dtype=torch.float64) - space.used @ space.used.T
    solution = columns(keys, space.project, penalty=lam, fraction=None, earlier=earlier)
    T = earlier.double().T @ earlier.double()
    for n in range(3):
        k = keys[n].double().T
        want = torch.linalg.solve(p @ (k @ k.T + T) + lam * torch.eye(SIZE), p @ k).T
        assert torch.allclose(solution.adjusted[n], want, atol=1e-8)
        assert float((solution.adjusted[n] @ space.used).abs().max()) < 1e-10
