"""UltraEdit equals its formula solved at full size, alone, in groups and in a sequence."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from curation.case_sources.support import cases_from_facts
from curation.files.artifact_cache import Cache
from curation.loaders import load
from evaluation.editors.gradient_step.ultraedit import FeatureStatistics
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from schemas.facts import Fact
from tests.support.editors.edit_requests import NORWAY, PERU

SUPPORT = cases_from_facts(load("shipped").facts[:4])
LAYERS = (0, 1)
STRENGTH = 1e-3


def editor(lm: LM, cache: Cache, **more: Any) -> Any:
    made = make_editor("ultraedit", lm, cache, {"layers": LAYERS, "lr": STRENGTH, **more})
    made.prepare(SUPPORT)
    return made


def features(lm: LM, fact: Fact, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Keys and output gradients by autograd through the whole model, one fact alone."""
    text = lm.encode(fact.fact_prompt, fact.new_object.text, separator=" ")
    ids = torch.tensor([text.ids])
    seen: dict[str, torch.Tensor] = {}

    def keep(module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor:
        seen["k"] = inputs[0].detach()[0]
        seen["out"] = output.detach().requires_grad_()
        return seen["out"]

    hook = lm.projection(layer).register_forward_hook(keep)
    try:
        logits = lm.model(input_ids=ids).logits[0]
    finally:
        hook.remove()
    goals = ids[0, text.first :]
    nll = -logits[text.first - 1 : -1].log_softmax(-1).gather(1, goals[:, None]).mean()
    (slope,) = torch.autograd.grad(nll, seen["out"])
    places = slice(text.first - 1, len(text.ids) - 1)
    return seen["k"][places].double(), slope[0, places].double()


def plain(lm: LM, layer: int, facts: list[Fact], known: list[Fact]) -> torch.Tensor:
    """The change of the weight [width, inner], the system solved at the keys' full size as published."""
    rows = [features(lm, fact, layer) for fact in facts]
    keys, slopes = torch.cat([k for k, _ in rows]), torch.cat([g for _, g in rows])
    everything = torch.cat([torch.cat(features(lm, fact, layer), 1) for fact in [*known, *facts]])
    scores = (torch.cat([keys, slopes], 1) - everything.mean(0)) / everything.std(0)
    k, g = scores[:, : keys.shape[1]], scores[:, keys.shape[1] :]
    wished = -STRENGTH * (k * k).sum(1, keepdim=True) * g
    system = keys.T @ keys + torch.eye(keys.shape[1], dtype=torch.float64)
    return torch.linalg.solve(system, keys.T @ wished).T


def change(lm: LM, edit: Any, layer: int) -> torch.Tensor:
    (delta,) = [d for d in edit.deltas if d.weight == lm.layout.weight(layer)]
    return delta.matrix().double()


@pytest.mark.parametrize("layer", LAYERS)
def test_the_low_rank_form_is_the_published_one_solved_whole(tiny: LM, cache: Cache, layer: int) -> None:
    known = [case.fact for case in SUPPORT]
    made = editor(tiny, cache)
    single = change(tiny, made.edit([PERU]), layer)
    want = plain(tiny, layer, [PERU], known)
    torch.testing.assert_close(single, want, rtol=2e-3, atol=2e-3 * float(want.abs().max()))
    both = change(tiny, made.edit([PERU, NORWAY]), layer)
    want = plain(tiny, layer, [PERU, NORWAY], known)
    torch.testing.assert_close(both, want, rtol=2e-3, atol=2e-3 * float(want.abs().max()))


def test_in_a_sequence_the_statistics_hold_what_earlier_edits_saw(tiny: LM, cache: Cache) -> None:
    made = editor(tiny, cache)
    first = made.edit([PERU])
    second = made.edit_after([NORWAY], [first])  # on the unedited model, so that only the statistics differ
    want = plain(tiny, 1, [NORWAY], [case.fact for case in SUPPORT] + [PERU])
    torch.testing.assert_close(change(tiny, second, 1), want, rtol=2e-3, atol=2e-3 * float(want.abs().max()))
    assert not torch.allclose(change(tiny, made.edit([NORWAY]), 1), change(tiny, second, 1), rtol=1e-3)


def test_support_that_holds_no_edit_is_refused(tiny: LM, cache: Cache) -> None:
    made = make_editor("ultraedit", tiny, cache, {"layers": LAYERS})
    with pytest.raises(UserError, match="starts its statistics from other facts"):
        made.prepare([])
    with pytest.raises(UserError, match="was not prepared"):
        made.edit([PERU])


def test_layers_are_named_once(tiny: LM, cache: Cache) -> None:
    for layers in ([], [1, 1], [-1]):
        with pytest.raises(UserError):
            make_editor("ultraedit", tiny, cache, {"layers": layers})


def test_a_feature_that_never_varies_is_zero_and_not_nan() -> None:
    known = FeatureStatistics.of(torch.tensor([[1.0, 2.0], [1.0, 4.0]]))
    assert known.normalise(torch.tensor([[7.0, 3.0]])).tolist() == [[0.0, 0.0]]
    single = FeatureStatistics.of(torch.tensor([[1.0, 2.0]]))
    assert single.normalise(torch.tensor([[9.0, 9.0]])).tolist() == [[0.0, 0.0]], "one row has no variance"
