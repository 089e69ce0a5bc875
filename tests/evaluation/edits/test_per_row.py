"""A different edit in every row: each row's outputs are those of a module with that row's change and no other."""

from __future__ import annotations

import pytest
import torch

from evaluation.edits.delta_stack import applied
from evaluation.edits.per_row import PerRow
from evaluation.edits.weight_deltas import DenseDelta
from tests.support.evaluation.batched_probes import changes
from tests.support.tiny import make

SEQUENCE = list(range(5, 15))


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([3, -1, 1, 3, 0, 4], id="some twice, some none"),
        pytest.param([4, 3, 2, 1, 0], id="each once"),
        pytest.param([3, 3, 3], id="one for all"),
        pytest.param([-1, -1], id="none for all"),
        pytest.param([4], id="one row of an empty edit"),
    ],
)
@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_a_row_gets_its_own_edit_and_no_other(kind: str, rows: list[int]) -> None:
    lm = make(kind)
    edits, digest = changes(lm)[::-1], lm.weights_digest()  # the first one does something, the last one nothing
    ids, mask = lm.pad([SEQUENCE] * len(rows))
    with torch.no_grad():
        with PerRow(lm.model, edits).on(rows):
            logits = lm.model(input_ids=ids, attention_mask=mask).logits
            assert lm.weights_digest() == digest, "no weight is touched"
        for n, row in enumerate(rows):
            with applied(lm.model, edits[row] if row >= 0 else []):
                assert torch.allclose(logits[n], lm.model(input_ids=ids[n : n + 1]).logits[0], atol=1e-4)


def test_small_changes_survive_half_precision() -> None:
    """Products are added in float32: of a weight that rounds the change away, the output still has it."""
    lm = make("llama", dtype=torch.bfloat16)
    with torch.no_grad():
        lm.projection(1).weight.copy_(
            torch.tensor([1.0, -1.0]).repeat(lm.layout.inner // 2).expand(lm.layout.width, -1)
        )
    small = torch.full((lm.layout.width, lm.layout.inner), 1e-3)
    keys = torch.ones(2, 1, lm.layout.inner)
    assert torch.equal(lm.projection(1).weight + 1e-3, lm.projection(1).weight)
    with torch.no_grad(), PerRow(lm.model, [[DenseDelta(lm.layout.weight(1), small)]]).on([0, -1]):
        out = lm.projection(1)(keys.bfloat16())
    assert out.dtype == torch.bfloat16 and not out[1].any()
    assert torch.allclose(out[0].float(), torch.tensor(lm.layout.inner * 1e-3), rtol=1e-2)
