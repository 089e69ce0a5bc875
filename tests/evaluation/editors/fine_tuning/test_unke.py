"""UnKE: search and training against a plain loop on whole passes; what moves, what stays, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from benchmarks.support.naive_reference import hooked
from curation.files.artifact_cache import Cache
from evaluation.editors.fine_tuning.unke import unrelated_texts
from evaluation.editors.locate_edit.target_windows import search_windows, windows_of
from evaluation.editors.locate_edit.value_search import SearchSettings
from evaluation.editors.presets import make_editor, preset
from evaluation.models.language_model import LM
from schemas.core.errors import DataError, ModelError, UserError
from schemas.facts import Fact, Object
from tests.support.documents.records import make_document
from tests.support.editors.edit_requests import NORWAY, PERU
from tests.support.facts import peru_fact
from tests.support.tiny import make

LONG = peru_fact("f/long", new=Object(text="Quito, a city in the north, and people travel there by bus or by train."))
TEXTS = ["Rain fell on the roof all night.", "She counts the boats.", "A kettle, a map and two coats lay on the bench."]
LAYER = 1


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    path = tmp_path / "corpus.txt"
    path.write_text("\n\n".join(TEXTS) + "\n")
    return str(path)


def unke(lm: LM, folder: Path, corpus: str, **params: Any) -> Any:
    options = {"layers": [LAYER], "steps": 6, "updates": 5, "block_lr": 1e-3, "corpus": corpus, **params}
    return make_editor("unke", lm, Cache(folder), options)


def states(lm: LM, ids: list[int]) -> Tensor:
    """The block's own output on a text, [positions, width], from a whole pass."""
    own: list[Tensor] = []
    with hooked(lm.block(LAYER), lambda _, out: own.append(out[0])):  # type: ignore[func-returns-value]
        lm.model(torch.tensor([ids]))
    return own[0]


def plain(lm: LM, facts: list[Fact], window: int) -> None:
    """The published loop, text after text: no padding, no batches, the block trained by whole passes.

    The search for the states before every window is that of AnyEdit, which has a plain loop of its own.
    """
    settings = SearchSettings(6, 0.5, 0.0, 1e-3, 4.0, 1e-2)
    goals: list[tuple[list[int], Tensor]] = []
    for fact in facts:
        windows = windows_of(lm, 0, fact, window=window, lead=5)
        read = list(windows[-1].ids[: windows[-1].first])
        with torch.no_grad():
            goal = states(lm, read).clone()
        for one, value in zip(windows, search_windows(lm, LAYER, windows, settings=settings), strict=True):
            goal[one.first - 1] = value.target
        goals.append((read, goal))
    with torch.no_grad():
        texts = [lm.tokenizer(text)["input_ids"] for text in TEXTS]
        kept = [(ids, states(lm, ids).clone()) for ids in texts]
    block = lm.block(LAYER).requires_grad_(True)
    matrices, vectors = [p for p in block.parameters() if p.ndim > 1], [p for p in block.parameters() if p.ndim == 1]
    groups = [{"params": matrices, "weight_decay": 0.01}, {"params": vectors, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=1e-3)
    for _ in range(5):
        loss = torch.zeros(())
        for rows in (goals, kept):
            gaps = [((states(lm, ids) - goal) ** 2).flatten() for ids, goal in rows]
            loss = loss + torch.cat(gaps).mean()
        optimiser.zero_grad()
        loss.backward(inputs=[*matrices, *vectors])
        optimiser.step()


@pytest.mark.parametrize(("kind", "facts", "window"), [("llama", [LONG, NORWAY], None), ("gpt2", [LONG, PERU], 6)])
def test_weights_are_those_of_a_plain_loop(
    kind: str, facts: list[Fact], window: int | None, corpus: str, tmp_path: Path
) -> None:
    lm, twin = make(kind), make(kind)
    edit = unke(lm, tmp_path, corpus, window=window).edit(facts)
    plain(twin, facts, window or 1000)
    before = {name: p.detach().clone() for name, p in lm.model.named_parameters()}
    inside = {id(p) for p in lm.block(LAYER).parameters()}
    digest = lm.weights_digest()
    with edit.on(lm):
        for (name, p), (_, q) in zip(lm.model.named_parameters(), twin.model.named_parameters(), strict=True):
            counted = slice(2 * lm.layout.width, None) if name.endswith("c_attn.bias") else slice(None)
            assert torch.allclose(p[counted], q[counted], atol=2e-5), name  # keys' biases have no slope but rounding
            assert torch.equal(p, before[name]) == (id(p) not in inside), "the whole block moves, and nothing else"
    assert lm.weights_digest() == digest
    assert edit.notes["windows"] == (len(facts) if window is None else 6)
    assert min(edit.notes["kept_error"], edit.notes["written_error"]) > 0 and edit.notes["blow_up"] is False


def test_a_document_is_written_after_its_lead(corpus: str, tmp_path: Path) -> None:
    lm = make("llama")
    document = make_document("d/1", "Line 1 runs to Quito, a city in the north, by bus.", entity=None)
    ids = lm.token_ids(document.text)

    def loss() -> float:
        with torch.no_grad():
            log_probs = lm.model(torch.tensor([ids])).logits[0].log_softmax(-1)
        return -float(torch.stack([log_probs[n - 1, ids[n]] for n in range(4, len(ids))]).mean())

    before = loss()
    with unke(lm, tmp_path, corpus, lead=3, steps=25, updates=50).edit([document]).on(lm):
        assert loss() < before - 0.2


def test_unrelated_texts_are_drawn_by_seed_and_request() -> None:
    from evaluation.covariance.covariance import Corpus

    corpus = Corpus.shipped()
    texts = unrelated_texts(corpus, 20, "0", "f/1")
    assert texts == unrelated_texts(corpus, 20, "0", "f/1") and len(set(texts)) == 20
    assert texts != unrelated_texts(corpus, 20, "0", "f/2") and texts != unrelated_texts(corpus, 20, "1", "f/1")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"layers": []}, "at least 1"),
        ({"layers": [0, 1]}, "at most 1"),
        ({"layers": [9]}, "9"),
        ({"scope": "all"}, "scope"),
        ({"window": 0}, "window"),
        ({"corpus": "nowhere.txt"}, "no such corpus"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], words: str, corpus: str, tmp_path: Path, tiny: LM) -> None:
    with pytest.raises((DataError, UserError), match=words):
        _ = unke(tiny, tmp_path, **{"corpus": corpus, **options}).components


def test_models_and_requests_that_are_refused(corpus: str, tmp_path: Path, tiny: LM) -> None:
    short = make_document("d/1", "Rovo.", entity=None)
    with pytest.raises(UserError, match="cannot be edited"):
        unke(tiny, tmp_path, corpus, lead=50).edit([short])
    narrow = make("llama", dtype=torch.bfloat16)
    with pytest.raises(ModelError, match="rounded away in bfloat16"):
        unke(narrow, tmp_path, corpus).edit([PERU])
    assert preset("unke", "meta-llama/Llama-2-7b-chat-hf")["layers"] == [7]
