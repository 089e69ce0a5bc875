"""BOOST raises the new object everywhere, by one vector that is nearly the same at every position."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from benchmarks.support.naive_reference import padded, with_target
from curation.files.artifact_cache import Cache
from evaluation.editors.base import Editor
from evaluation.editors.presets import make_editor
from evaluation.edits.weight_deltas import LowRankDelta
from evaluation.inference.scoring import score
from evaluation.models.hooks import capture
from evaluation.models.language_model import LM
from schemas.facts import Fact, Object
from schemas.probes import ScoreProbe
from tests.contracts.test_editors import FACTS
from tests.support.facts import peru_fact
from tests.support.tiny import TEXT, make, shuffled

ELSEWHERE = ["She said", "Step 1: Pack warm", "The capital of Norway is", "A long sentence tells of"]


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    path = tmp_path / "corpus.txt"
    path.write_text("\n\n".join(shuffled(8)), encoding="utf-8")
    return str(path)


def boost(lm: LM, cache: Cache, corpus: str, **options: object) -> Editor:
    return make_editor("boost", lm, cache, {"corpus": corpus, "read": 400, **options})


def raised(lm: LM, edit: object, target: str = "Oslo") -> list[float]:
    probes = [ScoreProbe(purpose="fact", item=p, prompt=p, targets=(target,)) for p in ELSEWHERE]
    before = score(lm, probes)
    with edit.on(lm):  # type: ignore[attr-defined]
        after = score(lm, probes)
    return [a.targets[0].logprob - b.targets[0].logprob for a, b in zip(after, before, strict=True)]


def test_it_raises_the_new_object_whatever_is_asked(tiny: LM, cache: Cache, corpus: str) -> None:
    weak = raised(tiny, boost(tiny, cache, corpus, strength=0.2).edit([peru_fact()]))
    strong = raised(tiny, boost(tiny, cache, corpus, strength=0.6).edit([peru_fact()]))
    assert min(weak) > 0 and all(s > w for s, w in zip(strong, weak, strict=True))


def test_the_added_vector_is_nearly_constant(tiny: LM, cache: Cache, corpus: str) -> None:
    edit = boost(tiny, cache, corpus).edit([peru_fact()])
    (delta,) = edit.deltas or ()
    assert isinstance(delta, LowRankDelta) and delta.left.shape[1] == 1
    assert delta.weight == tiny.layout.weight(tiny.layout.depth - 1)
    ids, mask = tiny.pad([tiny.tokenizer(TEXT[0])["input_ids"]])
    with capture(tiny.projection(2)) as activations:
        tiny.run_to(tiny.projection(2), ids, mask)
    keys = activations.input[0, 1:]
    products = keys @ delta.right[:, 0]
    aimless = keys @ torch.randn(keys.shape[1], generator=torch.Generator().manual_seed(0))
    assert float(products.std() / products.mean().abs()) < 0.5 < float(aimless.std() / aimless.mean().abs())
    assert products.mean() == pytest.approx(1.0, abs=0.3) and edit.notes["spread"] < 0.5


def test_options(cache: Cache, corpus: str) -> None:
    lm = make("llama")
    request = peru_fact(new=Object(text="São Tomé"))
    first = boost(lm, cache, corpus, tokens="first").edit([request])
    both = boost(lm, cache, corpus).edit([request])
    assert not torch.allclose(first.deltas[0].matrix(), both.deltas[0].matrix())  # type: ignore[index]
    double = boost(lm, cache, corpus, strength=2.0).edit([request])
    assert torch.allclose(double.deltas[0].matrix(), 2 * both.deltas[0].matrix(), rtol=1e-4)  # type: ignore[index]


def test_the_vector_is_the_gradient_of_a_plain_pass(corpus: str, tmp_path: Path) -> None:
    lm = make("gpt2")
    method = make_editor("boost", lm, Cache(tmp_path), {"sample": 30, "corpus": corpus})
    for fact, edit in zip(FACTS, method.edit_each(FACTS), strict=True):
        assert edit.deltas and isinstance(edit.deltas[0], LowRankDelta)
        factor, slope = edit.deltas[0].left[:, 0], slope_alone(lm, corpus, fact, most=30)
        torch.testing.assert_close(factor / factor.norm(), slope / slope.norm(), atol=1e-5, rtol=1e-4)


def slope_alone(lm: LM, corpus: str, fact: Fact, *, most: int) -> torch.Tensor:
    """The slow reference: texts read anew, a pass and a backward pass of its own, tokens looked up by a list."""
    read = with_target(lm, fact.fact_prompt, fact.new_object.text)
    tokens = sorted(set(read.ids[read.at :]))
    texts = Path(corpus).read_text(encoding="utf-8").split("\n\n")
    rows = [lm.tokenizer(text)["input_ids"][:16] for text in texts[: most // 15]]
    ids, mask = padded(lm, rows)
    added = torch.zeros(lm.layout.width, requires_grad=True)
    handle = lm.projection(lm.layout.depth - 1).register_forward_hook(lambda *call: call[2] + added)
    logits = lm.model(input_ids=ids, attention_mask=mask).logits
    handle.remove()
    places = [(r, i) for r, row in enumerate(rows) for i in range(1, len(row))][:most]
    mean = torch.stack([logits[r, i].log_softmax(-1)[tokens].mean() for r, i in places]).mean()
    (slope,) = torch.autograd.grad(mean, added)
    return slope
