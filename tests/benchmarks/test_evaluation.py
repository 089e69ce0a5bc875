"""The benchmark that needs a GPU runs on a CPU with a tiny shape, and both ways agree there."""

from __future__ import annotations

import pytest

from evaluation.models.language_model import LM


@pytest.mark.slow
@pytest.mark.model
def test_the_gpu_benchmark_on_a_tiny_shape(embedded: LM) -> None:
    against_plain = pytest.importorskip("benchmarks.gpu.against_plain", reason="benchmarks are not shipped")
    shape = against_plain.Shape(cases=2, plainly=1, small=True, growth=False)
    result = against_plain.main(shape)
    for name in ("rome", "memit", "ft"):
        row = result[name]
        assert row["failed"] == [] and row["ratio"] > 0
        assert row["largest_gap_nll_of_the_new_object"] < 0.02
        assert row["largest_gap_log_probability_same_edit"] < 1e-4
