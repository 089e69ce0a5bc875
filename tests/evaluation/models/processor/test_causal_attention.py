"""Attention in parts equals PyTorch's over the whole, and stands aside where a query may look ahead."""

from __future__ import annotations

import gc
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from evaluation.models.language_model import LM
from evaluation.models.processor import causal_attention as attention
from evaluation.models.processor import fused_steps as steps
from evaluation.models.processor.causal_attention import PART, attend_by_parts, causal
from evaluation.models.processor.fused_steps import fused_steps
from evaluation.models.processor.tiled_weights import has_tiles, tiled_products
from tests.support.tiny import CONFIGS, make

BARRED = torch.finfo(torch.float32).min


def drawn(queries: int, keys: int, *, heads: int = 6, shared: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    draw = torch.Generator().manual_seed(7)
    shapes = ((2, queries, heads, 8), (2, keys, shared, 8), (2, keys, shared, 5))
    query, key, value = (torch.randn(shape, generator=draw).transpose(1, 2) for shape in shapes)
    return query, key, value


def allowed(queries: int, keys: int) -> Tensor:
    """As in trees of tokens: oneself and some of what comes before, bool [2, 1, queries, keys]."""
    draw = torch.Generator().manual_seed(9)
    some = torch.rand(2, 1, queries, keys, generator=draw) > 0.3
    return (some & (causal(queries, keys) == 0)) | torch.eye(keys, dtype=torch.bool)[keys - queries :]


def whole(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scale: float) -> Tensor:
    key, value = (one.repeat_interleave(query.shape[1] // key.shape[1], 1) for one in (key, value))
    return scaled_dot_product_attention(query, key, value, mask, scale=scale).transpose(1, 2)


@pytest.mark.parametrize("form", ["bool", "added", "none", "one mask"])
@pytest.mark.parametrize(("queries", "keys"), [(PART + 1, PART + 1), (2 * PART, 2 * PART), (70, 70), (40, 55)])
@pytest.mark.parametrize("shared", [1, 2, 6])
def test_equals_attention_over_the_whole(form: str, queries: int, keys: int, shared: int) -> None:
    query, key, value = drawn(queries, keys, shared=shared)
    mask = allowed(queries, keys)
    if form in ("none", "one mask"):
        mask = (causal(queries, keys) == 0).expand(1, 1, queries, keys)
    given = {"bool": mask, "none": None}.get(form, torch.zeros(mask.shape).masked_fill(~mask, BARRED))
    got = attend_by_parts(query, key, value, given, 0.3)
    assert got is not None and got.is_contiguous()
    assert torch.allclose(got, whole(query, key, value, mask, 0.3), atol=1e-5)


def test_few_queries_and_masks_that_look_ahead_are_left_alone() -> None:
    query, key, value = drawn(PART, PART)
    assert attend_by_parts(query, key, value, None, 0.3) is None
    query, key, value = drawn(50, 50)
    for number in (0.0, -1.0, 3.0):
        mask = causal(50, 50).clone()
        mask[0, 0, 30, 31] = number
        assert attend_by_parts(query, key, value, mask, 0.3) is None
    ahead = causal(50, 50) == 0
    ahead[0, 0, 0, 49] = True
    assert attend_by_parts(query, key, value, ahead, 0.3) is None
    assert attend_by_parts(query, key, value, causal(50, 60), 0.3) is None, "a mask of another shape"
    query, key, value = drawn(50, 40)
    assert attend_by_parts(query, key, value, None, 0.3) is None, "queries without keys of their own"


def passed(lm: LM, rows: list[tuple[int, ...]]) -> Tensor:
    ids, mask = lm.pad(rows)
    with torch.no_grad():
        out: Tensor = lm.model(input_ids=ids, attention_mask=mask).logits
    return out[mask.bool()]


@pytest.mark.parametrize("rows", [[(5, 6, 7, 8, 9, 10, 11), (12, 13, 14)], [(5, 6, 7, 8, 9, 10, 11)]])
@pytest.mark.parametrize("kind", CONFIGS)
def test_models_read_long_rows_by_parts(
    kind: str, rows: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    lm, used = make(kind), list[int]()
    want = passed(lm, rows)
    own = attention.attend_by_parts

    def note(*args: Any) -> Tensor | None:
        out = own(*args)
        used.append(out is not None)
        return out

    monkeypatch.setattr(attention, "PART", 2)
    monkeypatch.setattr(steps, "PAIRS", 0)
    monkeypatch.setattr(steps, "attend_by_parts", note)
    with fused_steps(lm):
        got = passed(lm, rows)
    assert torch.allclose(got, want, atol=1e-4)
    if kind in ("llama", "qwen2", "mistral"):
        assert used == [True] * lm.layout.depth
        if has_tiles():
            with tiled_products(lm):
                used.clear()  # of what was tried first
                assert torch.allclose(passed(lm, rows), want, atol=1e-4)
            assert used == [True] * lm.layout.depth


def test_attention_that_looks_both_ways_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module says so where it gives no mask."""
    lm = make("llama")
    module: Any = lm.block(0).get_submodule("self_attn")
    module.is_causal = False
    query, key, value = drawn(40, 40, heads=4)
    called: list[str] = []
    monkeypatch.setattr(steps, "attend_by_parts", lambda *_: called.append("parts"))
    with fused_steps(lm), torch.no_grad():
        out = ALL_ATTENTION_FUNCTIONS["sdpa"](module, query, key, value, None, scaling=0.3, dropout=0.0)[0]
    assert not called
    every = torch.ones(1, 1, 40, 40, dtype=torch.bool)
    assert torch.allclose(out, whole(query, key, value, every, 0.3), atol=1e-5)


def test_a_mask_is_looked_at_anew_when_it_has_changed() -> None:
    query, key, value = drawn(50, 50)
    mask = causal(50, 50).expand(2, 1, 50, 50) == 0
    mask = mask.clone()
    first = attend_by_parts(query, key, value, mask, 0.3)
    assert first is not None and torch.equal(first, attend_by_parts(query, key, value, mask, 0.3))  # type: ignore[arg-type]
    mask[:, :, 40, 3:30] = False
    got = attend_by_parts(query, key, value, mask, 0.3)
    assert got is not None and torch.allclose(got, whole(query, key, value, mask, 0.3), atol=1e-5)
    mask[:, :, 2, 30] = True
    assert attend_by_parts(query, key, value, mask, 0.3) is None


@torch.inference_mode()
def test_a_mask_whose_changes_nothing_counts_is_looked_at_every_time() -> None:
    query, key, value = drawn(50, 50)
    mask = (causal(50, 50) == 0).expand(2, 1, 50, 50).clone()
    assert attend_by_parts(query, key, value, mask, 0.3) is not None
    mask[:, :, 2, 30] = True
    assert attend_by_parts(query, key, value, mask, 0.3) is None


@pytest.mark.parametrize("added", [False, True])
def test_what_is_known_of_a_mask_goes_with_it(added: bool) -> None:
    query, key, value = drawn(50, 50)
    mask = causal(50, 50).expand(2, 1, 50, 50).clone()
    mask, before = mask if added else mask == 0, len(attention._FACTS)
    assert attend_by_parts(query, key, value, mask, 0.3) is not None and len(attention._FACTS) == before + 1
    del mask
    gc.collect()
    assert len(attention._FACTS) <= before, "an entry that leads back to its mask keeps both for ever"
