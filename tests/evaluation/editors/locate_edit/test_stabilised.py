"""Stabilisers against their formulas on dense matrices, and inside the methods: sequences, dumps, refusals."""

from __future__ import annotations

import math
from contextlib import ExitStack
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from curation.case_sources.support import Support, cases_from_facts
from curation.files.artifact_cache import Cache
from curation.loaders import load
from curation.splits.split_file import make_split
from evaluation.covariance.covariance import Corpus, key_covariances
from evaluation.editors.locate_edit import readings, stabilisers
from evaluation.editors.locate_edit.stabilised import ORDER, state_after
from evaluation.editors.locate_edit.stabilisers import (
    anchored,
    damping,
    rectified,
    shielded,
    shielded_directions,
)
from evaluation.editors.presets import check_options, make_editor
from evaluation.edits.edit import CarryingEdit
from evaluation.edits.weight_deltas import DenseDelta, LowRankDelta, joint
from evaluation.inference.answering import ModelScorer
from evaluation.models.language_model import LM
from evaluation.regimes.edit_chain import EditChain
from evaluation.runs.results import load_run
from schemas.cases import Case
from schemas.core.errors import UserError
from tests.support.arithmetic import make_config
from tests.support.editors import memit
from tests.support.editors.edit_requests import NORWAY, PERU
from tests.support.editors.memit import CONTEXTS, editor
from tests.support.evaluation.tiny_runs import run_tiny
from tests.support.tiny import make

corpus = memit.corpus


ROMES = ("rome", "r_rome")


SUPPORT = cases_from_facts(load("shipped").facts[:3])


def method(name: str, lm: LM, cache: Cache, corpus: str, **more: Any) -> Any:
    if name in ROMES:
        made = make_editor(name, lm, cache, {"layer": 1, "steps": 8, "templates": CONTEXTS, "corpus": corpus, **more})
    else:
        made = editor(name, lm, cache, corpus, **more)
    made.prepare(SUPPORT)
    return made


def total(edits: list[Any], weight: str) -> torch.Tensor:
    return torch.stack([d.matrix() for e in edits for d in e.deltas if d.weight == weight]).sum(0)


CHOICES = [
    *(("memit", "llama", name) for name in ORDER),
    ("emmet", "gpt2", "prune"),
    ("alphaedit", "gpt2", "sphere"),
    ("rome", "llama", "nas"),
    ("r_rome", "gpt2", "rect"),
]


@pytest.mark.parametrize(("name", "kind", "stabiliser"), CHOICES)
def test_a_stabilised_edit_alone_together_and_in_a_sequence(
    name: str, kind: str, stabiliser: str, cache: Cache, corpus: str
) -> None:
    tiny = make(kind)
    made, digest = method(name, tiny, cache, corpus, stabilise=[stabiliser]), tiny.weights_digest()
    for one, fact in zip(made.edit_each([PERU, NORWAY]), (PERU, NORWAY), strict=True):
        alone = made.edit([fact])
        kind = DenseDelta if stabiliser == "rect" else LowRankDelta
        assert all(isinstance(d, kind) for d in one.deltas)
        for weight in {d.weight for d in alone.deltas}:
            difference = total([one], weight) - total([alone], weight)
            assert difference.norm() < 0.05 * total([alone], weight).norm()
    first = made.edit([PERU])
    with first.on(tiny):
        second = made.edit_after([NORWAY], [first])
        assert second.notes["norm_ratio"] > 0
    assert tiny.weights_digest() == digest


@pytest.mark.parametrize("name", ["memit", "emmet"])
def test_accumulated_keys_enter_the_system_as_published(name: str, tiny: LM, cache: Cache, corpus: str) -> None:
    made = method(name, tiny, cache, corpus, stabilise=["accumulate"], lam=60.0)
    plain = method(name, tiny, cache, corpus, lam=60.0)
    first = made.edit([PERU])
    with first.on(tiny):
        aware, unaware = made.edit_after([NORWAY], [first]), plain.edit_after([NORWAY], [first])
    second = key_covariances(tiny, [0], Corpus([Path(corpus)]), cache=cache)[0].second.double()
    mine, held = aware.carried.keys[0][-1:].double(), first.carried.keys[0].double()
    system = 60.0 * second + mine.T @ mine + held.T @ held
    want = aware.deltas[0].left.double() @ torch.linalg.solve(system, mine.T).T
    assert (aware.deltas[0].matrix() - want).norm() < 2e-3 * want.norm()
    want = unaware.deltas[0].left.double() @ torch.linalg.solve(60.0 * second + mine.T @ mine, mine.T).T
    assert (unaware.deltas[0].matrix() - want).norm() < 2e-3 * want.norm(), "without it earlier keys play no part"


def test_nas_writes_values_of_the_mean_length_and_skips_long_ones(tiny: LM, cache: Cache, corpus: str) -> None:
    made = method("rome", tiny, cache, corpus, stabilise=["nas"])
    values = made.searched_values([case.fact for case in SUPPORT])
    assert made._mean_length == pytest.approx(float(values.norm(dim=1).mean()))
    made._mean_length = float(made.searched_values([PERU]).norm()) * 0.75
    edit = made.edit([PERU])
    with edit.on(tiny):
        written = readings.read_at(tiny, tiny.projection(1), [readings.subject_position(tiny, PERU)]).values[0]
    assert float(written.norm()) == pytest.approx(made._mean_length, rel=1e-3)
    made._mean_length *= 0.5  # now the value is more than twice as long
    assert made.edit([PERU]).deltas[0].norm() == 0
    spread = method("memit", tiny, cache, corpus, stabilise=["nas"])
    spread._mean_length = 1e-3
    skipped = spread.edit([PERU, NORWAY])
    assert skipped.notes["nas_skipped"] == 2 and all(d.norm() < 1e-4 for d in skipped.deltas)


def test_nas_of_a_spread_residual_is_that_of_the_mlps_part(tiny: LM, cache: Cache, corpus: str) -> None:
    made = method("emmet", tiny, cache, corpus, stabilise=["nas"], layers=[1], templates=("{}",))
    edit = made.edit([PERU])
    with edit.on(tiny):
        written = readings.read_at(tiny, tiny.projection(1), [readings.subject_position(tiny, PERU)]).values[0]
    assert "nas_skipped" not in edit.notes
    assert float(written.norm()) == pytest.approx(made._mean_length, rel=5e-3)


@pytest.mark.parametrize("regime", ["sequential", "single"])
def test_a_whole_run_under_all_of_them(regime: str, corpus: str, tmp_path: Path) -> None:
    lm = make("llama")
    digest, facts = lm.weights_digest(), [PERU, NORWAY]
    params = {"layers": [0, 1], "steps": 4, "templates": ["{}"], "corpus": corpus, "stabilise": [*ORDER]}
    editors = [{"name": "memit", "params": params}]
    config = make_config(tmp_path / "run", editors=editors, metrics=["es"], regime=regime)
    split = make_split("s", [Case(key=f"c/{fact.key}", fact=fact) for fact in facts])
    outcomes = run_tiny(config, split, lm, support=Support(cases=tuple(SUPPORT), digest="of the support"))
    assert [outcome.failed for outcome in outcomes] == [0, 0] and lm.weights_digest() == digest
    manifest = load_run(tmp_path / "run").editors[1].manifest
    assert manifest.components["support"] == "of the support", "nas measures lengths there"
    assert manifest.params["stabilise"] == [*ORDER]


def test_the_option_has_one_order(tiny: LM, cache: Cache, corpus: str) -> None:
    params = method("memit", tiny, cache, corpus, stabilise=["rect", "accumulate"]).params
    assert params.model_dump()["stabilise"] == ("accumulate", "rect")
    made = method("memit", tiny, cache, corpus, stabilise=["rect"])
    assert made.bytes_an_edit == sum(4 * d.matrix().numel() for d in made.edit([PERU]).deltas)


def test_what_cannot_be_is_refused_in_one_sentence(tiny: LM, cache: Cache, corpus: str) -> None:
    with pytest.raises(UserError, match="stabilise: unknown field"):
        check_options("ft", "embedded", {"stabilise": ["rect"]}, where="editors.ft.params")
    check_options("rome", "embedded", {"stabilise": ["rect"]}, where="editors.rome.params")
    for name in ("alphaedit", *ROMES):
        with pytest.raises(UserError, match="'accumulate' is none of this method's stabilisers; allowed: nas, sphere"):
            method(name, tiny, cache, corpus, stabilise=["accumulate"])
    with pytest.raises(UserError, match="name each stabiliser once"):
        method("memit", tiny, cache, corpus, stabilise=["rect", "rect"])
    made = editor("memit", tiny, cache, corpus, stabilise=["nas"])
    assert made.wants_support(made.params.model_dump()) and not made.wants_support({})
    with pytest.raises(UserError, match="'nas' was not prepared"):
        made.edit([PERU])
    with pytest.raises(UserError, match="measures the length of values on other facts"):
        made.prepare([])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("stabilise", [["prune"], ["sphere"], ["rect"]])
def test_a_chain_stabilises_each_change_by_the_weight_as_it_then_is(
    stabilise: list[str], dtype: torch.dtype, cache: Cache, corpus: str
) -> None:
    """Against the stabilisers' functions of matrices; of narrow weights the changes stand beside them."""
    lm = make("llama", dtype=dtype)
    made, draw = method("memit", lm, cache, corpus, stabilise=stabilise, layers=[0]), torch.Generator().manual_seed(2)
    original = stabilisers.weight_matrix(lm.projection(0)).float().clone()
    raws = [LowRankDelta(lm.layout.weight(0), *(size * torch.randn(n, 2, generator=draw) for n in original.shape))
            for size in (4.0, 3.0, 5.0)]  # fmt: skip

    def edited(requests: Any, earlier: list[Any]) -> CarryingEdit:
        before = state_after(earlier)
        edit: CarryingEdit = made.finish(made.reshaped(0, [raws[len(earlier)]], before), {}, before, {})
        return edit

    made.edit_after = edited
    want, name = original.clone(), stabilise[0]
    with ExitStack() as on:
        chain = EditChain(ModelScorer(lm), on)
        for n, raw in enumerate(raws, 1):
            edit = chain.add(made, PERU)
            if name == "prune":
                whole = stabilisers.damping(reduce(joint, raws[:n]), original)
                now = original + sum(r.matrix() for r in raws[:n]) + (0 if whole is None else whole.matrix())
            elif name == "sphere":
                now = want + stabilisers.shielded(raw, stabilisers.shielded_directions(want)).matrix()
            else:
                now = want + stabilisers.rectified(raw, want).matrix()
            assert (total([edit], raw.weight) - (now - want)).norm() < 2e-3 * (now - want).norm()
            want = now
        assert [e.carried is None for e in chain.edits] == [True, True, False], "the newest alone carries the sums"
        assert all(e.deltas == () for e in chain.edits)


DRAW = torch.Generator().manual_seed(3)


WEIGHT = torch.randn(6, 9, generator=DRAW)


def low(rank: int, scale: float = 1.0) -> LowRankDelta:
    return LowRankDelta("w", scale * torch.randn(6, rank, generator=DRAW), torch.randn(9, rank, generator=DRAW))


def dense(scale: float = 1.0) -> DenseDelta:
    return DenseDelta("w", scale * torch.randn(6, 9, generator=DRAW))


@pytest.mark.parametrize("share", [0.4, 1.0, 0.001])
@pytest.mark.parametrize("delta", [low(2), dense()], ids=["low", "dense"])
def test_rect_keeps_the_relatively_largest_entries(delta: LowRankDelta | DenseDelta, share: float) -> None:
    change, kept = delta.matrix().numpy(), max(1, int(share * 54))
    order = sorted(np.ndindex(6, 9), key=lambda at: -abs(change[at] / (float(WEIGHT[at]) + 1e-8)))
    want = np.zeros((6, 9), dtype=np.float32)
    for at in order[:kept]:
        want[at] = change[at]
    value = rectified(delta, WEIGHT, share=share).value.numpy()
    assert np.array_equal(value, want) and np.count_nonzero(value) == kept


def test_sphere_takes_half_of_what_lies_along_the_main_directions() -> None:
    rows = WEIGHT.double().numpy()
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    _, sizes, v = np.linalg.svd(rows)
    parts = sizes**2 / (sizes**2).sum()
    count = next(n for n in range(1, 7) if parts[:n].sum() >= 0.5)
    directions = shielded_directions(WEIGHT)
    assert directions.shape == (9, count) and 1 < count < 6
    np.testing.assert_allclose((directions @ directions.T).numpy(), v[:count].T @ v[:count], atol=1e-10)
    for delta in (low(2), dense()):
        want = delta.matrix().double().numpy() @ (np.eye(9) - 0.5 * v[:count].T @ v[:count])
        out = shielded(delta, directions)
        assert type(out) is type(delta), "what is low-rank stays low-rank"
        np.testing.assert_allclose(out.matrix().numpy(), want, atol=1e-5)


def test_sphere_of_equal_rows_and_of_rows_of_zeros() -> None:
    equal = shielded_directions(torch.ones(4, 3))
    assert equal.shape == (3, 1) and torch.allclose(equal.abs(), torch.full((3, 1), 3**-0.5, dtype=torch.float64))
    assert shielded_directions(torch.zeros(4, 3)).isfinite().all()


LARGE = [[low(2, 3.0)], [low(1), low(2, 9.0)], [dense(4.0)], [low(1, 5.0), dense()]]


@pytest.mark.parametrize("changes", LARGE, ids=["low", "lows", "dense", "both"])
def test_prune_damps_singular_values_above_the_weights_largest(changes: list[LowRankDelta | DenseDelta]) -> None:
    most = np.linalg.svd(WEIGHT.double().numpy())[1][0]
    u, sizes, v = np.linalg.svd(sum(c.matrix().double() for c in changes).numpy(), full_matrices=False)
    assert sizes[0] > most, "there is something to damp"
    kept = [s if s <= most else math.log(s, 1.2) - math.log(most, 1.2) + most for s in sizes]
    found = damping(reduce(joint, changes), WEIGHT)
    assert found is not None and found.left.shape[1] == sum(s > most for s in sizes)
    total = sum(c.matrix() for c in [*changes, found]).numpy()
    np.testing.assert_allclose(total, u @ np.diag(kept) @ v, atol=2e-4)


def test_prune_leaves_small_changes_alone() -> None:
    assert damping(low(2, 1e-3), WEIGHT) is None and damping(dense(1e-3), WEIGHT) is None
    assert damping(LowRankDelta("w", torch.zeros(6, 1), torch.zeros(9, 1)), WEIGHT) is None


def test_nas_scales_to_the_mean_and_skips_what_is_twice_as_long() -> None:
    out = anchored(torch.tensor([[3.0, 4.0], [0.5, 0.0], [6.0, 8.1], [6.0, 8.0], [0.0, 0.0]]), 5.0)
    assert out.values.norm(dim=1).tolist() == pytest.approx([5, 5, 5, 5, 0])
    assert out.skipped.tolist() == [False, False, True, False, False]
    assert torch.allclose(out.values[1], torch.tensor([5.0, 0.0]))
