"""The batched search against one edit at a time with full passes (``naive_reference``)."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.support import naive_reference as reference_loop
from curation.files.artifact_cache import Cache
from evaluation.editors.locate_edit.value_search import SearchSettings, _rows_of, search_values
from evaluation.editors.presets import make_editor
from evaluation.edits.delta_stack import applied
from evaluation.edits.weight_deltas import Delta
from evaluation.inference.batching import CPU_PADDING, TokenBudget
from evaluation.inference.passes import logits_at
from evaluation.models.language_model import LM
from schemas.facts import Entity, Fact, Object
from tests.support.facts import peru_fact
from tests.support.tiny import make, replace_everywhere, shuffled

CONTEXTS = ("{}", "She left. {}", "\nA town of rivers. {}")
HOW = SearchSettings(steps=12, lr=0.5, kl_weight=0.0625, weight_decay=1e-3, clamp=4.0, stop_below=-1.0)
OBJECTS = ("Oslo", "São Tomé", "a city of the north", "Quito")
LANDS = ("Peru", "Norway", "France", "Madrid", "Quito", "The Gulf of Guinea")


def requests() -> list[Fact]:
    items = []
    for n, land in enumerate(LANDS):
        prompt = ("The capital of {} is", "In {} the capital city is", "{} is led from")[n % 3]
        new = Object(text=OBJECTS[n % 4])
        items.append(peru_fact(f"f/{n}", subject=Entity(text=land), old=Object(text="Lima"), new=new, prompt=prompt))
    return items


def decided(lm: LM, request: Fact, deltas: list[Delta]) -> tuple[float, bool]:
    """Mean NLL a token of the new object at the fact prompt under an edit, and whether it beats the old one."""
    assert request.new is not None
    results = []
    with applied(lm.model, deltas), torch.no_grad():
        for text in (request.new.text, request.old.text):
            coded = lm.encode(request.fact_prompt, text)
            logprobs = lm.model(torch.tensor([coded.ids])).logits[0].log_softmax(-1)
            places = range(coded.first, len(coded.ids))
            results.append(-sum(float(logprobs[i - 1, coded.ids[i]]) for i in places) / len(places))
    return results[0], results[0] < results[1]


SITES = [(kind, site) for kind in ("llama", "gpt2", "gemma2") for site in ("mlp", "block")]


@pytest.mark.parametrize(("kind", "site"), SITES)
def test_values_found_together_are_those_found_alone_with_full_passes(kind: str, site: Any) -> None:
    lm, some = make(kind), requests()
    module = lm.projection(1) if site == "mlp" else lm.block(1)
    ends = sorted(value.loss for value in search_values(lm, 1, some, CONTEXTS, settings=HOW, site=site))
    variant = replace(HOW, stop_below=(ends[2] + ends[3]) / 2)  # half of them get there
    values = search_values(lm, 1, some, CONTEXTS, settings=variant, site=site, budget=TokenBudget(160))
    assert len({value.updates for value in values}) > 1, "some end before others"
    for request, actual in zip(some, values, strict=True):
        want = reference_loop.value(lm, 1, request, CONTEXTS, variant, module=module)
        assert actual.updates == want.steps
        assert actual.nll == pytest.approx(want.nll, abs=2e-3)
        assert float((actual.target - want.target).norm() / want.target.norm()) < 5e-3


def test_a_step_runs_what_an_edit_changes_and_logits_that_are_read() -> None:
    lm, some = make("llama"), requests()
    rows = [row for fact in some for row in _rows_of(lm, fact, CONTEXTS)]
    read = {"below": list[int](), "layer": list[int](), "head": list[int]()}
    modules = {"below": lm.projection(0), "layer": lm.projection(1), "head": lm.module(lm.layout.head)}
    handles = [
        module.register_forward_pre_hook(lambda m, args, n=name: read[n].append(args[0][..., 0].numel()))
        for name, module in modules.items()
    ]
    search_values(lm, 1, some, CONTEXTS, settings=replace(HOW, steps=4), budget=TokenBudget(10_000))
    for handle in handles:
        handle.remove()
    scored = sum(max(1, len(row.goals)) for row in rows)
    passes = len(read["head"]) // 4
    assert len(read["below"]) == 2 * passes, "stored beginnings, and what follows them: once a batch"
    assert sum(read["head"]) == 4 * scored
    tokens, padding = sum(len(row.ids) - row.subject for row in rows), CPU_PADDING * passes
    assert 4 * tokens <= sum(read["layer"][passes:]) <= 4 * (tokens + padding)
    assert tokens < sum(len(row.ids) for row in rows) / 2, "most tokens stand before the subject's last"


def test_memory_running_out_in_the_middle_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lm, some = make("llama"), requests()
    want = search_values(lm, 1, some, CONTEXTS, settings=HOW)
    sizes, budget = [], TokenBudget(256)

    def tight_logits(lm: Any, ids: Any, *args: Any, **more: Any) -> Any:
        sizes.append(len(ids))
        if len(sizes) > 8 and len(ids) > 7:  # at first there is enough memory; another program then takes it
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return logits_at(lm, ids, *args, **more)

    replace_everywhere(monkeypatch, logits_at, tight_logits)
    with caplog.at_level(logging.WARNING):
        values = search_values(lm, 1, some, CONTEXTS, settings=HOW, budget=budget)
    assert max(sizes[:8]) > 7 and max(sizes[-5:]) <= 7 and budget.tokens < 256
    assert "memory ran out" in caplog.text
    for a, b in zip(values, want, strict=True):
        assert a.updates == b.updates and torch.allclose(a.target, b.target, atol=2e-3)


GIVEN: dict[str, dict[str, Any]] = {
    "ft": {"layer": 1, "steps": 12, "lr": 5e-3},
    "rome": {"layer": 1, "steps": 12, "templates": CONTEXTS},
    "memit": {"layers": [0, 1], "steps": 12, "templates": CONTEXTS, "lam": 1.0},
}


def test_half_precision_weights_are_edited_in_float32(tmp_path: Path) -> None:
    lm = make("llama", dtype=torch.bfloat16)
    (tmp_path / "corpus.txt").write_text("\n\n".join(shuffled(8)), encoding="utf-8")
    for name, params in GIVEN.items():
        more = {} if name == "ft" else {"corpus": str(tmp_path / "corpus.txt")}
        editor = make_editor(name, lm, Cache(tmp_path / "cache"), {**params, **more})
        digest, gains = lm.weights_digest(), []
        for request, edit in zip(requests(), editor.edit_each(requests()), strict=True):
            assert {d.matrix().dtype for d in edit.deltas or ()} == {torch.float32}
            gains.append(decided(lm, request, [])[0] - decided(lm, request, list(edit.deltas or ()))[0])
        # steps of 1/16 nat: bfloat16 rounds a gain of one request up or down, so all are taken together
        assert sum(gains) > 0.2 * len(gains) and max(gains) > 0.5 and lm.weights_digest() == digest
