"""ROME and R-ROME against plain re-statements: keys, the search for values, readings under many edits."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from benchmarks.support import naive_reference as reference_loop
from curation.files.artifact_cache import Cache
from evaluation.covariance.covariance import KeyCovariance
from evaluation.editors.locate_edit import closed_forms, context_templates, readings, value_search
from evaluation.editors.locate_edit.readings import read_at
from evaluation.editors.locate_edit.value_search import SearchSettings, search_values
from evaluation.editors.presets import make_editor
from evaluation.edits.weight_deltas import Delta
from evaluation.inference.batching import TokenBudget
from evaluation.inference.passes import logits_at
from evaluation.models.language_model import LM
from evaluation.models.tokenization import TokenPosition
from schemas.core.errors import UserError
from schemas.facts import Entity, Fact, Object
from tests.support.editors import edit_requests
from tests.support.editors.edit_requests import NORWAY, PERU, rome
from tests.support.evaluation.batched_probes import changes
from tests.support.evaluation.edited_model import edited_copy
from tests.support.facts import peru_fact
from tests.support.tiny import make, replace_everywhere, shuffled

corpus = edit_requests.corpus


def test_direction_solves_for_the_key() -> None:
    half = torch.randn(6, 40)
    second, key = half @ half.T / 40, torch.randn(6)
    direction = closed_forms.direction(key, KeyCovariance(second, 40))
    want = torch.linalg.inv(second) @ key
    assert torch.allclose(direction.u, want / want.norm(), atol=1e-4)
    assert direction.whitened == pytest.approx(float(key @ want), rel=1e-3)
    assert torch.allclose(closed_forms.direction(key, None).u, key / key.norm())
    for few in (KeyCovariance(half[:, :3] @ half[:, :3].T, 3), KeyCovariance(second - 9 * torch.eye(6), 40)):
        with pytest.raises(UserError, match=f"moments of {few.tokens} tokens cannot be inverted"):
            closed_forms.direction(key, few)


def test_several_requests_are_edited_in_turn(tiny: LM, cache: Cache, corpus: str) -> None:
    editor = rome(tiny, cache, corpus, steps=10)
    both = editor.edit([PERU, NORWAY])
    first = editor.edit([PERU])
    with first.on(tiny):
        second = editor.edit([NORWAY])
    assert len(both.deltas or ()) == 2
    for value, want in zip(both.deltas or (), (*(first.deltas or ()), *(second.deltas or ())), strict=True):
        assert torch.allclose(value.matrix(), want.matrix(), atol=1e-5)
    assert len(both.notes["requests"]) == 2


PERU_FACT = peru_fact()


PREFIXES = ("{}", "She left. {}", "\nA town. {}")


@pytest.mark.parametrize("covariance", [True, False])
def test_the_change_writes_at_the_averaged_key(covariance: bool, tiny: LM, cache: Cache, tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("\n\n".join(shuffled(8)), encoding="utf-8")
    fields = {"layer": 1, "steps": 10, "templates": PREFIXES, "corpus": str(path), "covariance": covariance}
    edit = make_editor("r_rome", tiny, cache, fields).edit([PERU_FACT])
    (delta,) = edit.deltas or ()
    vectors = readings.read_at(
        tiny, tiny.projection(1), [readings.subject_position(tiny, PERU_FACT, text) for text in PREFIXES]
    )
    settings = value_search.SearchSettings(
        steps=10, lr=0.5, kl_weight=0.0625, weight_decay=1e-3, clamp=4.0, stop_below=0.05
    )
    value = value_search.search_values(tiny, 1, [PERU_FACT], PREFIXES, settings=settings)[0]
    reached = vectors.values.mean(0) + delta.product(vectors.keys.mean(0))
    assert torch.allclose(reached, value.target, atol=1e-3 * float(value.target.abs().max()))
    rome = make_editor("rome", tiny, cache, fields).edit([PERU_FACT])
    (at_bare,) = rome.deltas or ()
    bare = vectors.values[0] + at_bare.product(vectors.keys[0])
    assert torch.allclose(bare, value.target, atol=1e-3 * float(value.target.abs().max()))
    assert not torch.allclose(delta.matrix(), at_bare.matrix(), rtol=1e-2)
    assert rome.notes["value_norm"] == pytest.approx(at_bare.norm(), rel=1e-4)
    assert rome.notes["blow_up"] is (rome.notes["norm_ratio"] > 1)


SEARCHED_IN = ("{}", "She left. {}", "\nA town of rivers. {}")


HOW = SearchSettings(steps=12, lr=0.5, kl_weight=0.0625, weight_decay=1e-3, clamp=0.8, stop_below=-1.0)


OBJECTS = ("Oslo", "São Tomé", "a city of the north", "Quito")


LANDS = ("Peru", "Norway", "France", "Madrid", "Quito", "The Gulf of Guinea")


def requests() -> list[Fact]:
    items = []
    for n, land in enumerate(LANDS):
        prompt = ("The capital of {} is", "In {} the capital city is", "{} is led from")[n % 3]
        new = Object(text=OBJECTS[n % 4])
        items.append(peru_fact(f"f/{n}", subject=Entity(text=land), old=Object(text="Lima"), new=new, prompt=prompt))
    return items


SITES = [("llama", "mlp"), ("llama", "block"), ("gpt2", "mlp"), ("gemma2", "block")]


@pytest.mark.parametrize(("kind", "site"), SITES)
def test_values_found_together_are_those_found_alone_with_full_passes(kind: str, site: Any) -> None:
    lm, some = make(kind), requests()
    module = lm.projection(1) if site == "mlp" else lm.block(1)
    ends = sorted(value.loss for value in search_values(lm, 1, some, SEARCHED_IN, settings=HOW, site=site))
    variant = replace(HOW, stop_below=(ends[2] + ends[3]) / 2)  # half of them get there
    values = search_values(lm, 1, some, SEARCHED_IN, settings=variant, site=site, budget=TokenBudget(160))
    assert len({value.updates for value in values}) > 1, "some end before others"
    for request, actual in zip(some, values, strict=True):
        want = reference_loop.value(lm, 1, request, SEARCHED_IN, variant, module=module)
        assert actual.updates == want.steps
        assert actual.nll == pytest.approx(want.nll, abs=2e-3)
        assert float((actual.target - want.target).norm() / want.target.norm()) < 5e-3


def test_memory_running_out_in_the_middle_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lm, some, short = make("llama"), requests(), replace(HOW, steps=5)
    want = search_values(lm, 1, some, SEARCHED_IN, settings=short)
    sizes, budget = [], TokenBudget(256)

    def tight_logits(lm: Any, ids: Any, *args: Any, **more: Any) -> Any:
        sizes.append(len(ids))
        if len(sizes) > 2 and len(ids) > 7:  # at first there is enough memory; another program then takes it
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return logits_at(lm, ids, *args, **more)

    replace_everywhere(monkeypatch, logits_at, tight_logits)
    with caplog.at_level(logging.WARNING):
        values = search_values(lm, 1, some, SEARCHED_IN, settings=short, budget=budget)
    assert min(sizes[:2]) > 7 and max(sizes[-5:]) <= 7 and budget.tokens < 256
    assert "memory ran out" in caplog.text
    for a, b in zip(values, want, strict=True):
        assert a.updates == b.updates and torch.allclose(a.target, b.target, atol=2e-3)


PROMPTS = [
    TokenPosition((9, 4, 11, 12, 13, 7), 4),
    TokenPosition((5,), 0),
    TokenPosition((5, 6, 7, 8), 1),
    TokenPosition((9, 4, 11), 2),
    TokenPosition((30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40), 9),
]


def slowly(lm: LM, module: nn.Module, what: str, place: TokenPosition, deltas: list[Delta]) -> Tensor:
    """One row on its own, by PyTorch's own hook, the whole prompt run through a whole model with the edit in it."""
    model = edited_copy(lm, deltas)
    (name,) = [n for n, m in lm.model.named_modules() if m is module]
    records: dict[str, Tensor] = {}

    def keep(_: nn.Module, output: tuple[Tensor, ...], out: Tensor) -> None:
        records.update(keys=output[0], values=out)

    model.get_submodule(name).register_forward_hook(keep)
    with torch.no_grad():
        model(input_ids=torch.tensor([place.ids]))
    return records[what][0, place.last].float()


@pytest.mark.parametrize(("kind", "tokens"), [("llama", 1024), ("gpt2", 6)], ids=["one pass", "many passes"])
def test_each_row_reads_the_model_with_its_own_edit(kind: str, tokens: int) -> None:
    lm = make(kind)
    edits, groups, module = changes(lm), [4, 1, 0, 4, 2], lm.projection(2)
    read = read_at(lm, module, PROMPTS, edits=edits, groups=groups, budget=TokenBudget(tokens))
    shifted = read_at(lm, module, PROMPTS, edits=edits, groups=[0] * 5)
    for label in ("keys", "values"):
        activations = getattr(read, label)
        assert activations.dtype == torch.float32 and len(activations) == len(PROMPTS)
        for n, (place, group) in enumerate(zip(PROMPTS, groups, strict=True)):
            assert torch.allclose(activations[n], slowly(lm, module, label, place, edits[group]), atol=1e-4), n
        assert (activations - getattr(shifted, label)).abs().amax(1).tolist()[0] > 1e-3, "the edits do something"


def test_templates_are_sampled_once_from_a_seed(tiny: LM, cache: Cache, tmp_path: Path) -> None:
    state = torch.random.get_rng_state()
    templates = context_templates.sample_templates(tiny, ((4, 3), (6, 2)), cache=cache)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert len(templates) == 6 and templates[0] == "{}" and all(t.endswith(". {}") for t in templates[1:])
    assert context_templates.sample_templates(tiny, ((4, 3), (6, 2)), cache=Cache(tmp_path / "other")) == templates
    with torch.no_grad():
        tiny.projection(0).weight.mul_(3)
    assert context_templates.sample_templates(tiny, ((4, 3), (6, 2)), cache=cache) == templates  # from the cache
    tiny.revision = "changed"
    assert context_templates.sample_templates(tiny, ((4, 3), (6, 2)), cache=cache) != templates


@pytest.mark.parametrize(
    ("templates", "message"),
    [(("So. {}",), "first context template"), (("{}", "So."), "ends in"), ((), "first context template")],
)
def test_bad_templates(templates: tuple[str, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        context_templates.check_templates(templates)


def test_braces_in_sampled_text_are_text() -> None:
    assert context_templates.fill("a {} {0} b. {}", "x {} y") == "a {} {0} b. x {} y"
