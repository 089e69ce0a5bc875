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


def states(lm: LM, ids: list[int], add: list[tuple[int, Tensor]]) -> tuple[Tensor, Tensor]:
    """The block's own output on a text, [positions, width], and logits with some of it shifted, from a whole pass."""
    own: list[Tensor] = []

    def change(_: Tensor, out: Tensor) -> Tensor:
        own.append(out[0])
        rows = list(out[0])
        for place, delta in add:
            rows[place] = rows[place] + delta
        return torch.stack(rows)[None]

    with hooked(lm.block(LAYER), change):
        logits = lm.model(torch.tensor([ids])).logits[0]
    return own[0], logits


def searched(lm: LM, ids: list[int], first: int, window: int) -> list[tuple[int, Tensor]]:
    """The shifts before every window, by Adam on whole passes."""
    shifts: list[tuple[int, Tensor]] = []
    for start in range(first, len(ids), window):
        end = min(start + window, len(ids))
        with torch.no_grad():
            size = states(lm, ids[:start], [])[0][start - 1].norm()
        delta = torch.zeros(lm.layout.width, requires_grad=True)
        optimiser = torch.optim.Adam([delta], lr=0.5)
        for step in range(6):
            log_probs = states(lm, ids[: end - 1], [*shifts, (start - 1, delta)])[1].log_softmax(-1)
            loss = -torch.stack([log_probs[n - 1, ids[n]] for n in range(start, end)]).mean()
            (loss + 1e-3 * delta.norm() / size**2).backward(inputs=[delta])
            if step == 5:
                break
            optimiser.step()
            optimiser.zero_grad()
            with torch.no_grad():
                delta.mul_(min(1.0, float(4.0 * size / delta.norm())))
        shifts.append((start - 1, delta.detach()))
    return shifts


def plain(lm: LM, facts: list[Fact], window: int) -> None:
    """The published loop, text after text: no padding, no batches, the block trained by whole passes."""
    goals: list[tuple[list[int], Tensor]] = []
    for fact in facts:
        text = lm.encode(fact.fact_prompt, fact.new_object.text)
        ids = list(text.ids)
        shifts = searched(lm, ids, text.first, window)
        read = ids[: shifts[-1][0] + 1]
        with torch.no_grad():
            goal = states(lm, read, [])[0].clone()
        for place, delta in shifts:
            goal[place] += delta
        goals.append((read, goal))
    with torch.no_grad():
        texts = [lm.tokenizer(text)["input_ids"] for text in TEXTS]
        kept = [(ids, states(lm, ids, [])[0].clone()) for ids in texts]
    block = lm.block(LAYER).requires_grad_(True)
    matrices, vectors = [p for p in block.parameters() if p.ndim > 1], [p for p in block.parameters() if p.ndim == 1]
    groups = [{"params": matrices, "weight_decay": 0.01}, {"params": vectors, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=1e-3)
    for _ in range(5):
        loss = torch.zeros(())
        for rows in (goals, kept):
            gaps = [((states(lm, ids, [])[0] - goal) ** 2).flatten() for ids, goal in rows]
            loss = loss + torch.cat(gaps).mean()
        optimiser.zero_grad()
        loss.backward(inputs=[*matrices, *vectors])
        optimiser.step()


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
@pytest.mark.parametrize(("facts", "window"), [([LONG], None), ([LONG, NORWAY], None), ([LONG, PERU], 6)])
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
