"""Further model classes: what works there, and what is refused by name; never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from evaluation.checks.model_compatibility import examine
from evaluation.editors import EDITORS
from evaluation.engines.base import Job
from evaluation.engines.fast import FastEngine
from evaluation.inference.generation import PromptToContinue, Sampling, generate
from evaluation.metrics.generation import load_metrics
from evaluation.models.language_model import LM
from evaluation.runs.plan import ask
from schemas.core.errors import ModelError
from tests.support.documents.records import make_document
from tests.support.editors.saved_edits import FACTS, cases, editor
from tests.support.evaluation.further_architectures import DENSE, EXPERTS, make_further

EVERY = [*DENSE, *EXPERTS]
RECURRENT = ("qwen3_5", "lfm2", "lfm2_moe", "qwen3_next", "rwkv", "recurrent_gemma", "openai-gpt")
"""Those with a running state, or with no cache at all."""
RUNS = ("opt", "bloom", "gemma4", "qwen3_5", "rwkv", "openai-gpt", "mixtral", "deepseek_v3", "llama4")
"""One for each way to read and to keep a cache: rows on one axis, no positions, a norm after the MLP, states, none."""
IN_CONTEXT = ("prompt", "ice")
MLP = tuple(name for name in EDITORS.names() if EDITORS.get(name).edits_mlp)


@torch.no_grad()
def nll(lm: LM) -> float:
    """NLL per token of the first fact's new object, by one plain pass."""
    enc = lm.encode(FACTS[0].fact_prompt, FACTS[0].new_object.text)
    logprobs = lm.model(input_ids=torch.tensor([enc.ids]), use_cache=False).logits[0].float().log_softmax(-1)
    numbers = range(enc.first, len(enc.ids))
    return -sum(float(logprobs[i - 1, enc.ids[i]]) for i in numbers) / len(numbers)


@pytest.mark.parametrize("kind", EVERY)
def test_the_layout_and_the_doctor(kind: str) -> None:
    lm = make_further(kind)
    digest = lm.weights_digest()
    assert lm.layout.experts is (kind in EXPERTS)
    if kind in DENSE:
        assert lm.layout.projection(1) == DENSE[kind][2]
    assert lm.layout.recurrent is (kind in RECURRENT)
    assert lm.layout.flat is (kind == "opt")
    compatibility = examine(lm)
    assert compatibility.works, [f for f in compatibility.findings if f.state == "no"]
    assert lm.weights_digest() == digest


@torch.no_grad()
def alone(lm: LM, text: str, length: int) -> list[int]:
    """Greedy tokens by whole passes over the growing text, without caches or hooks."""
    ids = lm.tokenizer(text)["input_ids"]
    start = len(ids)
    while len(ids) < start + length and ids[-1] != lm.tokenizer.eos_token_id:
        ids.append(int(lm.model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1].argmax()))
    return ids[start:]


@pytest.mark.parametrize("kind", RUNS)
def test_a_run_scores_and_writes(kind: str, tmp_path: Path) -> None:
    """Edits in context, and low-rank adapters, through the engine of a run; texts are those of whole passes."""
    lm, metrics = make_further(kind), load_metrics(["es", "ps"])
    digest = lm.weights_digest()
    for method in (*IN_CONTEXT, "lora"):
        instance = editor(method, lm, tmp_path / method, steps=12)
        jobs = [Job(c.key, c, ask(c, metrics)) for c in cases(2)]
        for answers in FastEngine(lm).work(instance, jobs):
            assert answers.error is None and all(a.error is None for a in answers.answers)
        if method == "lora":
            edit = instance.edit(FACTS[:1])
            plain = nll(lm)
            with edit.on(lm):
                assert nll(lm) < plain
    texts = [f.fact_prompt for f in FACTS]
    continuations = generate(lm, [PromptToContinue(t) for t in texts], sampling=Sampling(6))
    for text, value in zip(texts, continuations, strict=True):
        assert alone(lm, text, 6)[: len(value.ids)] == list(value.ids)
    assert lm.weights_digest() == digest


@pytest.mark.parametrize("kind", DENSE)
@pytest.mark.parametrize("method", ["ft", "rome", "memit"])
def test_weights_are_edited(kind: str, method: str, tmp_path: Path) -> None:
    lm = make_further(kind)
    digest, plain = lm.weights_digest(), nll(lm)
    if method == "memit" and not lm.layout.additive:
        with pytest.raises(ModelError, match="a norm follows the MLP"):
            editor(method, lm, tmp_path, templates=("{}",)).edit(FACTS[:1])
        return
    instance = editor(method, lm, tmp_path, templates=("{}",), covariance=False, steps=10, ridge=0.01)
    edit = instance.edit(FACTS[:1])
    if method == "memit":  # its search is for a state, whose loss has other parts
        assert edit.notes["written"] > 0
    else:
        assert edit.notes["nll" if method == "rome" else "loss"] < plain
    with edit.on(lm):
        assert lm.weights_digest() != digest and nll(lm) != plain
    assert lm.weights_digest() == digest and edit.deltas
    assert {d.shape for d in edit.deltas} == {(lm.layout.width, lm.layout.inner)}


@pytest.mark.parametrize("kind", EXPERTS)
def test_mixtures_of_experts_refuse_the_rest_by_name(kind: str, tmp_path: Path) -> None:
    lm = make_further(kind)
    assert {"rome", "memit", "alphaedit", "emmet", "r_rome", "ft", "ft_l", "ft_m", "mend", "boost"} <= set(MLP)
    for method in MLP:
        with pytest.raises(ModelError, match=f"'{method}' changes the MLP's output projection, and the blocks"):
            editor(method, lm, tmp_path, **({"layer": 1} if "layer" in EDITORS.get(method).Params.model_fields else {}))
    with pytest.raises(ModelError, match="no single map is the MLP's output projection; use a method in context"):
        lm.projection(1)


def test_every_method_says_whether_it_needs_the_projection(tmp_path: Path) -> None:
    """The others really do without it."""
    lm = make_further("mixtral")
    learning = {
        "ike",
        "script_ike",
        "bm25",
        "dense",
        "scr",
        "placebo",
        "serac",
        "swapped",
        "wording",
    }  # need other cases or edits
    alone = {"side": {"soft_weight": 0.0, "hard_weight": 0.0}}  # without statements of a document
    for method in set(EDITORS.names()) - set(MLP) - learning:
        requests = FACTS[:1] if "fact" in EDITORS.get(method).takes else [make_document()]
        edit = editor(method, lm, tmp_path / method, steps=2, **alone.get(method, {})).edit(requests)
        with edit.on(lm):
            assert nll(lm) > 0
