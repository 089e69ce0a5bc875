"""The doctor on every tiny class, on broken models, and as a command."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from evaluation.checks import model_compatibility as doctor
from evaluation.checks.model_compatibility import Diagnosis, Finding, examine
from evaluation.inference.scoring import score
from evaluation.models.language_model import LM
from tests.support.tiny import CONFIGS, make, tokenizer


def by_name(diagnosis: Diagnosis) -> dict[str, Finding]:
    return {f.what: f for f in diagnosis.findings}


@pytest.mark.parametrize("kind", CONFIGS)
def test_every_class_is_healthy_and_left_as_it_was(kind: str) -> None:
    lm = make(kind)
    digest = lm.weights_digest()
    compatibility = examine(lm)
    assert compatibility.works, [f for f in compatibility.findings if f.state == "no"]
    assert lm.weights_digest() == digest
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in lm.model.modules())
    text = by_name(compatibility)
    assert text["mlp"].facts["orientation"] == ("[in, out]" if kind == "gpt2" else "[out, in]")
    assert text["edit"].facts["restored"] and text["edit"].facts["logits_moved"] > 0
    assert text["mlp"].state == ("note" if kind in ("gemma2", "gemma3", "olmo2") else "ok")
    assert text["head"].state == ("note" if kind == "gemma2" else "ok")
    assert text["start token"].facts["front"] == (["<s>"] if kind == "llama" else [])
    json.dumps([f._asdict() for f in compatibility.findings])


@pytest.mark.parametrize("kind", ["llama", "gpt2", "gemma2"])
def test_bfloat16(kind: str) -> None:
    compatibility = examine(make(kind, dtype=torch.bfloat16))
    assert compatibility.works and by_name(compatibility)["load"].state == "note"
    assert by_name(compatibility)["edit"].facts["relative_error"] < 0.05


def test_sentences_name_what_a_reader_has_to_know() -> None:
    gemma = by_name(examine(make("gemma2")))
    assert "Its output is changed before it is added" in gemma["mlp"].text
    assert "capped or scaled" in gemma["head"].text
    assert "see 16 tokens" in gemma["attention"].text
    assert "puts no start token although it has one (<s>)" in by_name(examine(make("gpt2")))["start token"].text


def test_a_wrong_projection_is_found_by_the_edit() -> None:
    lm = make("llama")
    lm.layout = replace(lm.layout, mlp_out="self_attn.o_proj", inner=32)
    edit = by_name(examine(lm))["edit"]
    assert edit.state == "no", "what an attention writes goes through the MLP before it leaves the block"
    lm.layout = replace(lm.layout, mlp_out="mlp.act_fn")
    compatibility = examine(lm)
    assert not compatibility.works and by_name(compatibility)["edit"].state == "no"


def test_a_layout_that_calls_a_normed_output_additive_is_found() -> None:
    lm = make("olmo2")
    lm.layout = replace(lm.layout, additive=True)
    edit = by_name(examine(lm))["edit"]
    assert edit.state == "no" and "set additive = false" in edit.text


def test_a_model_that_ignores_the_edit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from contextlib import nullcontext

    monkeypatch.setattr(doctor, "applied", lambda model, deltas: nullcontext())
    edit = by_name(examine(make("llama")))["edit"]
    assert edit.state == "no" and "does not do what it should" in edit.text


def test_an_edit_that_stays_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from collections.abc import Iterator
    from contextlib import contextmanager

    lm = make("llama")

    @contextmanager
    def careless(model: torch.nn.Module, deltas: object) -> Iterator[None]:
        yield
        with torch.no_grad():
            lm.projection(1).weight[0, 0] += 2**-20

    monkeypatch.setattr(doctor, "applied", careless)
    edit = by_name(examine(lm))["edit"]
    assert edit.state == "no" and "not what they were" in edit.text


def test_wrong_scores_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = make("llama")

    def shifted(lm: LM, probes: list, **more: object) -> list:
        answers = score(lm, probes)
        return [
            a.model_copy(update={"targets": tuple(t.model_copy(update={"logprob": t.logprob + 1}) for t in a.targets)})
            for a in answers
        ]

    monkeypatch.setattr(doctor, "score", shifted)
    text = by_name(examine(lm))["scoring"]
    assert text.state == "no" and "do not trust them" in text.text


def test_offsets_that_lie_are_found() -> None:
    class Lying:
        is_fast, bos_token, eos_token, pad_token_id, unk_token_id = True, None, None, 0, None

        def __call__(self, text: str, **more: object) -> dict:
            out = dict(tokenizer(False)(text, **more))
            if "offset_mapping" in out:
                out["offset_mapping"] = [(0, 1) for _ in out["offset_mapping"]]
            return out

        def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
            return tokenizer(False).convert_ids_to_tokens(ids)

    lm = make("gpt2")
    compatibility = by_name(examine(LM(lm.model, Lying(), name="x", revision="1")))
    assert compatibility["offsets"].state == "no" and "character offsets" in compatibility["offsets"].text
    assert compatibility["subject"].state == "no"
