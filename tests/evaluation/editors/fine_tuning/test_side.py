"""SIDE against a plain loop written from its formula, one row and one token at a time; its terms; what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from schemas.core.errors import ModelError, UserError
from schemas.documents.simplified import StatedDocument
from tests.support.documents.records import make_document, stated_document
from tests.support.tiny import make

TRAM = stated_document(make_document("d/tram", "Line 9 runs to Rovo.", entity=None), subject="Line 9", target="Rovo")
LIMA = stated_document(
    make_document("d/lima", "São Tomé is in Peru.", entity=None), subject="Peru", target="São Tomé", prompt="{} has"
)
BOTH = StatedDocument(LIMA.document, (*LIMA.facts, *LIMA.facts[:1]))
SHORT = {"instruction": "Answer."}
STEPS = {"steps": 3, "lr": 1e-3, "stop_below": 0.0}


def side(lm: LM, folder: Path, **params: Any) -> Any:
    return make_editor("side", lm, Cache(folder), {**STEPS, **SHORT, **params})


def plain(
    lm: LM, stated: list[StatedDocument], weights: tuple[float, float, float], *, lam: float, steps: int
) -> list[float]:
    """Train the model itself by the formula; the weighted loss before each step."""
    text, soft, hard = weights
    reading: list[tuple[list[int], int]] = []
    for one in stated:
        for fact in one.facts:
            for before in ("Answer.\n\n", f"Answer.\n\n{one.document.text}\n\n"):
                prompt = before + fact.filled_prompt
                read = lm.tokenizer(f"{prompt} {fact.target}", return_offsets_mapping=True)
                starts = [n for n, (_, end) in enumerate(read["offset_mapping"]) if end > len(prompt) + 1]
                reading.append((read["input_ids"], starts[0]))

    def rows(ids: list[int], first: int) -> torch.Tensor:
        return torch.stack([lm.model(torch.tensor([ids[:n]])).logits[0, -1] for n in range(first, len(ids))])

    with torch.no_grad():
        teachers = []
        for (bare, bare_first), (read, read_first) in zip(reading[::2], reading[1::2], strict=True):
            assert bare[bare_first:] == read[read_first:]
            with_text, without = (rows(*pair).log_softmax(-1) for pair in ((read, read_first), (bare, bare_first)))
            teachers.append(((1 + lam) * with_text - lam * without).softmax(-1))
    lm.model.requires_grad_(True)
    optimiser = torch.optim.AdamW(lm.model.parameters(), lr=STEPS["lr"], weight_decay=0.0)
    out = []
    for _ in range(steps):
        texts, softs, hards = [], [], []
        for one in stated:
            ids = [*lm.tokenizer(one.document.text)["input_ids"], lm.tokenizer.eos_token_id]
            log_probs = rows(ids, 1).log_softmax(-1)
            texts += [-log_probs[n, t] for n, t in enumerate(ids[1:])]
        for (bare, first), teacher in zip(reading[::2], teachers, strict=True):
            log_probs = rows(bare, first).log_softmax(-1)
            hards += [-log_probs[n, t] for n, t in enumerate(bare[first:])]
            softs += [torch.nn.functional.kl_div(log_probs[n], p, reduction="sum") for n, p in enumerate(teacher)]
        loss = sum(w * torch.stack(t).mean() for w, t in ((text, texts), (soft, softs), (hard, hards)) if w)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        out.append(float(loss.detach()))
    return out


TERMS = {"all": (0.8, 0.1, 0.1), "text": (1.0, 0.0, 0.0), "soft": (0.0, 1.0, 0.0), "hard": (0.0, 0.0, 1.0)}


CASES = {
    "all": ("gpt2", TERMS["all"], 0.6, 16),
    **{term: ("llama", TERMS[term], 0.6, 16) for term in ("text", "soft", "hard")},
    "one at a time": ("llama", TERMS["all"], 0.0, 1),
}


def weights_of(terms: tuple[float, float, float]) -> dict[str, float]:
    return dict(zip(("text_weight", "soft_weight", "hard_weight"), terms, strict=True))


@pytest.mark.parametrize("name", CASES)
def test_it_is_the_plain_loop(name: str, tmp_path: Path) -> None:
    kind, terms, lam, batch = CASES[name]
    tiny, twin = make(kind), make(kind)
    losses = plain(twin, [TRAM, BOTH], terms, lam=lam, steps=3)
    edit = side(tiny, tmp_path, sharpening=lam, batch=batch, **weights_of(terms)).edit([TRAM, BOTH])
    digest = tiny.weights_digest()
    before = torch.cat([p.detach().flatten().clone() for p in tiny.model.parameters()])
    want = torch.cat([p.detach().flatten() for p in twin.model.parameters()]) - before
    with edit.on(tiny):
        moved = torch.cat([p.detach().flatten() for p in tiny.model.parameters()]) - before
    assert (moved - want).norm() < 0.02 * want.norm(), "AdamW makes whole steps of slopes that are mere rounding"
    assert tiny.weights_digest() == digest
    assert edit.notes["loss"] == pytest.approx(losses[-1], rel=2e-3)
    assert edit.notes["steps"] == 3 and edit.notes["questions_left_out"] == 0


def test_it_stops_where_the_loss_is_small_and_only_the_scope_moves(tmp_path: Path) -> None:
    lm = make("gpt2")
    still = side(lm, tmp_path, stop_below=1e6).edit([TRAM])
    with still.on(lm):
        assert still.notes["steps"] == 0 and still.notes["norm_ratio"] == 0.0
    before = {name: p.detach().clone() for name, p in lm.model.named_parameters()}
    with side(lm, tmp_path, scope="mlps", layers=(1,)).edit([TRAM]).on(lm):
        moved = {n for n, p in lm.model.named_parameters() if not torch.equal(p, before[n])}
    assert lm.layout.weight(1) in moved and all(".1.mlp." in name for name in moved)


def test_questions_that_do_not_fit_are_left_out_and_counted(tmp_path: Path) -> None:
    lm = make("gpt2")
    long = stated_document(make_document("d/long", ("Lima " * 60).strip(), entity=None), subject="Peru", target="Lima")
    edit = side(lm, tmp_path, instruction="Answer. " * 9).edit([long])
    with edit.on(lm):
        pass
    assert edit.notes["questions"] == 0 and edit.notes["questions_left_out"] == 1 and edit.notes["steps"] == 3
    alone = side(lm, tmp_path, instruction="Answer. " * 9, **weights_of(TERMS["hard"])).edit([long])
    with alone.on(lm):
        assert alone.notes["steps"] == 0, "nothing is left to train on: an edit that changes nothing"


def test_bad_input_is_refused_in_one_sentence(tmp_path: Path) -> None:
    lm = make("gpt2")
    with pytest.raises(UserError, match="learns from statements of its documents, and has none"):
        side(lm, tmp_path).edit([TRAM.document])
    with pytest.raises(UserError, match="are all 0"):
        side(lm, tmp_path, text_weight=0, soft_weight=0, hard_weight=0)
    with pytest.raises(UserError, match="options of 'side'.*scope = \"blocks\"|scope 'all' trains every weight"):
        side(lm, tmp_path, layers=(1,))
    with pytest.raises(ModelError, match="rounded away in bfloat16"):
        side(make("gpt2", dtype=torch.bfloat16), tmp_path).edit([TRAM])
    with pytest.raises(UserError, match="sharpening"):
        side(lm, tmp_path, sharpening=-1)
