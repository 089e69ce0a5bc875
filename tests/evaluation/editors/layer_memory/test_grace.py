"""GRACE against a plain loop over the whole model; sequences, radii, re-edits; what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.edits.codebook import Codebook
from evaluation.inference.scoring import score
from evaluation.models.hooks import capture
from evaluation.models.language_model import LM
from evaluation.saved_edits.formats import adapter_factors, merge_into_weights, write_deltas
from evaluation.saved_edits.save import save_edit
from schemas.cases import Case
from schemas.core.errors import ModelError, UserError
from schemas.facts import Fact, Object
from schemas.probes import ScoreProbe
from tests.support.editors.edit_requests import NORWAY, PERU
from tests.support.tiny import make

OPTIONS: dict[str, Any] = {"layer": 1, "steps": 12, "lr": 0.5}


def plain(lm: LM, fact: Fact, module: torch.nn.Module, *, steps: int, lr: float, value: torch.Tensor) -> Any:
    """The published loop: whole passes, one prompt, a parameter put in place of the output at its last token."""
    text = lm.encode(fact.fact_prompt, fact.new_object.text)
    value = value.clone().requires_grad_()
    optimiser = torch.optim.Adam([value], lr=lr)
    keys: list[torch.Tensor] = []

    def put(_: Any, args: Any, out: torch.Tensor) -> torch.Tensor:
        keys.append(args[0].detach()[0, text.first - 1])
        rows = [value if n == text.first - 1 else row for n, row in enumerate(out[0])]
        return torch.stack(rows)[None]

    handle = module.register_forward_hook(put)
    try:
        for _ in range(steps):
            optimiser.zero_grad()
            log_probs = lm.model(torch.tensor([text.ids])).logits[0].log_softmax(-1)
            picked = [log_probs[n - 1, text.ids[n]] for n in range(text.first, len(text.ids))]
            (-torch.stack(picked).mean()).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    finally:
        handle.remove()
    return keys[0], value.detach()


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("llama", {"start": "warm"}),
        ("gpt2", {"start": "cold"}),
        ("gpt2", {"start": "warm", "site": "mlp_in"}),
        ("gemma2", {"start": "warm"}),
    ],
)
def test_it_is_the_plain_loop(kind: str, options: dict[str, Any], cache: Cache) -> None:
    lm = make(kind)
    editor = make_editor("grace", lm, cache, {**OPTIONS, "steps": 6, **options})
    edits = editor.edit_each([PERU, NORWAY])
    for fact, edit in zip([PERU, NORWAY], edits, strict=True):
        (book,) = edit.deltas or ()
        assert isinstance(book, Codebook)
        module = lm.module(book.weight.removesuffix(".weight"))
        text = lm.encode(fact.fact_prompt, fact.new_object.text)
        with capture(module) as seen, torch.no_grad():
            lm.model(torch.tensor([text.ids]))
        start = seen.output[0, text.first - 1]
        if options["start"] == "cold":
            start = editor._start(type("End", (), {"output": start})())  # type: ignore[attr-defined]
            assert 0 <= float(start.min()) < 0.1 and 0.9 < float(start.max()) <= 1
        key, value = plain(lm, fact, module, steps=6, lr=0.5, value=start)
        assert torch.allclose(book.keys[0], key, atol=1e-5)
        assert (book.values[0] - value).norm() < 1e-2 * (value - start).norm()
        assert book.radii.tolist() == [1.0]


def probability(lm: LM, fact: Fact) -> float:
    probe = ScoreProbe(purpose="fact", item=fact.key, prompt=fact.fact_prompt, targets=(fact.new_object.text,))
    return score(lm, [probe])[0].targets[0].logprob


def test_it_makes_its_facts_likely_and_nothing_else(tiny: LM, cache: Cache) -> None:
    edit = make_editor("grace", tiny, cache, {**OPTIONS, "steps": 60}).edit([PERU])
    before = probability(tiny, PERU), probability(tiny, NORWAY)
    with edit.on(tiny):
        assert probability(tiny, PERU) > before[0] + 3 and probability(tiny, NORWAY) == before[1]
        tokens = len(tiny.encode(PERU.fact_prompt, PERU.new_object.text).target)
        assert probability(tiny, PERU) / tokens == pytest.approx(-edit.notes["loss"], abs=1e-3)


def test_the_same_fact_again_learns_further_and_another_object_takes_its_place(tiny: LM, cache: Cache) -> None:
    editor = make_editor("grace", tiny, cache, OPTIONS)
    first = editor.edit([PERU])
    again = editor.edit_after([PERU], [first])
    assert again.notes["items"] == 1 and again.notes["new_items"] == 0
    assert again.notes["loss"] < first.notes["loss"]
    other = PERU.model_copy(update={"new": Object(text="Paris")})
    changed = editor.edit_after([other], [again])
    assert changed.notes["items"] == 1 and changed.notes["new_items"] == 1
    with changed.on(tiny):
        assert probability(tiny, other) == pytest.approx(
            -changed.notes["loss"] * len(tiny.encode(PERU.fact_prompt, "Paris").target), abs=1e-3
        )


def test_what_no_file_of_weights_can_hold_is_refused_in_one_sentence(tiny: LM, cache: Cache, tmp_path: Path) -> None:
    editor = make_editor("grace", tiny, cache, OPTIONS)
    deltas = editor.edit([PERU]).deltas or ()
    with (
        pytest.raises(UserError, match="switched on prompt by prompt") as merge,
        merge_into_weights(tiny.model, deltas),
    ):
        pass
    with pytest.raises(UserError, match="switched on prompt by prompt"):
        adapter_factors(tiny.model, deltas)
    with pytest.raises(UserError, match="switched on prompt by prompt"):
        write_deltas(deltas, tmp_path)
    for saved_as in ("model", "adapter", "deltas"):
        with pytest.raises(UserError, match="an edit of 'grace' is switched on"):
            save_edit(editor, [Case(key="c", fact=PERU)], tmp_path / "out", saved_as=saved_as)  # type: ignore[arg-type]
    assert "\n" not in str(merge.value) and not list(tmp_path.iterdir())


def test_a_gated_mlp_has_no_one_map_into_its_inner_width(cache: Cache) -> None:
    with pytest.raises(ModelError, match='has 2 of them.*set site = "mlp_out"'):
        make_editor("grace", make("llama"), cache, {**OPTIONS, "site": "mlp_in"}).edit([PERU])
