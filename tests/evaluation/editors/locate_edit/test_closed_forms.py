"""The closed forms against the systems of full size that the published code solves."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from curation.files.artifact_cache import Cache
from evaluation.covariance.covariance import KeyCovariance
from evaluation.editors.locate_edit.closed_forms import columns, factor, null_space
from schemas.core.errors import UserError

CPU = torch.device("cpu")

SIZE = 24


def moments(tokens: int = 500, *, seed: int = 0) -> KeyCovariance:
    generator = torch.Generator().manual_seed(seed)
    scales = torch.logspace(0, -3, SIZE)  # as real keys: some directions are common, most are rare
    keys = torch.randn(tokens, SIZE, generator=generator) * scales
    return KeyCovariance(keys.T @ keys / tokens, tokens)


def some_keys(edits: int, count: int) -> Tensor:
    return torch.randn(edits, count, SIZE, generator=torch.Generator().manual_seed(1))


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


def test_null_space(tmp_path: Path) -> None:
    c, cache = moments(), Cache(tmp_path)
    values, vectors = torch.linalg.eigh(c.second.double())
    threshold = float(values[10:12].mean())
    space = null_space(c, CPU, threshold=threshold, share=None, cache=cache)
    assert space.dimensions == 11
    assert space.share == pytest.approx(float(values[:11].sum() / values.sum()))
    keys = some_keys(1, 6)[0]
    assert torch.allclose(space.project(keys), keys.double() @ vectors[:, :11] @ vectors[:, :11].T, atol=1e-9)
    assert torch.allclose(space.project(space.project(keys)), space.project(keys), atol=1e-12)
    by_share = null_space(c, CPU, threshold=None, share=space.share + 1e-9, cache=cache)
    assert by_share.dimensions == 11


@pytest.mark.parametrize(("threshold", "share"), [(1e-30, None), (1e9, None), (None, 1e-30)])
def test_a_null_space_is_neither_nothing_nor_all(threshold: float | None, share: float | None, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"of {SIZE} dimensions; change null_threshold, or give null_share"):
        null_space(moments(), CPU, threshold=threshold, share=share, cache=Cache(tmp_path))


def test_factorised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    c, items = moments(), []
    real = torch.linalg.cholesky_ex
    monkeypatch.setattr(torch.linalg, "cholesky_ex", lambda m: items.append(1) or real(m))
    keys = some_keys(2, 3)
    want = torch.linalg.solve(c.second.double(), keys.double().reshape(-1, SIZE).T).T.reshape(keys.shape)
    for _ in range(3):
        assert torch.allclose(factor(c, CPU).solve(keys), want, rtol=1e-6)
    assert len(items) == 1 and factor(c, CPU).ridge == 0
    factor(c, CPU, ridge=0.1)
    factor(moments(), CPU)
    assert len(items) == 3
    assert factor(c, CPU).spread <= float(torch.linalg.cond(c.second.double())) * (1 + 1e-6)


def test_few_tokens_need_a_ridge() -> None:
    few = moments(SIZE - 1)
    with pytest.raises(UserError, match=f"moments of {SIZE - 1} tokens cannot be inverted .*or a ridge"):
        factor(few, CPU)
    with pytest.raises(UserError, match="cannot be inverted"):
        factor(KeyCovariance(torch.ones(3, 3), 10_000), CPU)  # of rank one, however many tokens
    solver = factor(few, CPU, ridge=0.1)
    assert solver.ridge == pytest.approx(0.1 * float(few.second.diagonal().mean()))
    key = some_keys(1, 1)[0, 0].double()
    assert torch.allclose((few.second.double() + solver.ridge * torch.eye(SIZE)) @ solver.solve(key), key, atol=1e-8)
