"""Means and variances added up part by part are those of all rows."""

from __future__ import annotations

import torch

from evaluation.editors.gradient_step.feature_statistics import FeatureStatistics


def test_parts_in_any_order_and_one_row_at_a_time_are_the_whole() -> None:
    torch.manual_seed(3)
    rows = torch.randn(23, 5, dtype=torch.float64) * torch.tensor([1.0, 1e-3, 50.0, 1e4, 1.0]) + 1e3
    whole = FeatureStatistics.of(rows)
    for parts in (rows.split(1), rows.split([2, 20, 1]), rows.split(7)[::-1]):
        summed = FeatureStatistics.total(FeatureStatistics.of(part) for part in parts)
        assert summed.n == 23
        torch.testing.assert_close(summed.mean, rows.mean(0))
        torch.testing.assert_close(summed.squares / 22, rows.var(0))
    scores = whole.normalise(rows)
    torch.testing.assert_close(scores.mean(0), torch.zeros(5, dtype=torch.float64), atol=1e-9, rtol=0)
    torch.testing.assert_close(scores.std(0), torch.ones(5, dtype=torch.float64))


def test_a_feature_that_never_varies_is_zero_and_not_nan() -> None:
    known = FeatureStatistics.of(torch.tensor([[1.0, 2.0], [1.0, 4.0]]))
    assert known.normalise(torch.tensor([[7.0, 3.0]])).tolist() == [[0.0, 0.0]]
    single = FeatureStatistics.of(torch.tensor([[1.0, 2.0]]))
    assert single.normalise(torch.tensor([[9.0, 9.0]])).tolist() == [[0.0, 0.0]], "one row has no variance"
