from __future__ import annotations

import pytest
import torch

from evaluation.covariance.covariance import KeyCovariance
from evaluation.editors.locate_edit.parts.cholesky import factor
from schemas.core.errors import UserError
from tests.support.editors.second_moments import CPU, SIZE, moments, some_keys


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
