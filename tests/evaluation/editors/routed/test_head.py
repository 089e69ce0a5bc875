"""Scorers of routed edits: heads, pairs, routes, training, and their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from curation.case_sources.support import TrainingData
from curation.similarity.embeddings import encoder_identity
from evaluation.editors.checkpoints import write_tensors
from evaluation.editors.routed.base import best_route
from evaluation.editors.routed.cross import MAX_TOKENS, CrossRouter, CrossScorer
from evaluation.editors.routed.head import HeadRouter, ScopeHead, stack_questions
from evaluation.editors.routed.pairs import MEASURES, EventMemory, names_in
from evaluation.editors.routed.scorer_file import check_encoder, load_router, write_scorer
from evaluation.editors.routed.serac import Serac
from evaluation.editors.routed.training import (
    CrossTrainer,
    HeadTrainer,
    RoutingAccuracy,
    ScorerTrainer,
    TrainedScorer,
    questions_of,
)
from schemas.cases import EventCase
from schemas.core.errors import DataError, UserError
from tests.support.evaluation.routed_events import DIMENSIONS, ELSEWHERE, TOWNS, HashedVectors, tiny_encoder, town_cases

TEXTS = ["Ana Roe left Rome for Oslo.", "Oslo has a new mayor.", "Lima raised its taxes."]


def test_a_batch_equals_its_questions_one_by_one_and_places_without_an_event_score_nothing() -> None:
    torch.manual_seed(0)
    head = ScopeHead(DIMENSIONS, 8).eval()
    memory = EventMemory(TEXTS, HashedVectors())
    rows = torch.from_numpy(memory.rows)
    pairs = [memory.pairs("Who is mayor of Oslo?", size=3), memory.pairs("Who lives in Lima?", size=1)]
    both = head(stack_questions(pairs, rows))
    assert both.shape == (2, 3) and both[1, 1:].tolist() == [float("-inf")] * 2
    for n, one in enumerate(pairs):
        single_output = head(stack_questions([one], rows))[0]
        assert torch.allclose(both[n, : len(one.events)], single_output, atol=1e-5)


@pytest.mark.parametrize(("threshold", "passes"), [(0.0, True), (1.0, False)])
def test_the_threshold_decides_whether_the_best_event_passes(threshold: float, passes: bool) -> None:
    torch.manual_seed(1)
    router = HeadRouter(ScopeHead(DIMENSIONS, 8).eval(), TEXTS, HashedVectors(), shortlist=2, threshold=threshold)
    route = router.route("Question: Who is mayor of Oslo?\nAnswer:")
    assert (route.item is not None) is passes and 0 < route.score < 1
    assert route == router.route("Who is mayor of Oslo?"), "the question alone is looked up"


CASES = town_cases(TOWNS[:8])


EVENTS = [case.event.text for case in CASES]


@pytest.fixture
def scorer(tmp_path: Path) -> CrossScorer:
    torch.manual_seed(0)
    folder = tiny_encoder(tmp_path / "tiny", [*EVENTS, *(case.facts[0].text for case in CASES)])
    return CrossScorer(folder).eval()


def test_a_pair_has_the_same_score_alone_and_beside_longer_ones(scorer: CrossScorer) -> None:
    question = CASES[0].facts[0].text
    texts = [EVENTS[0], EVENTS[1] * 3]
    together = scorer.scores(question, texts)
    alone = torch.cat([scorer.scores(question, [text]) for text in texts])
    assert torch.allclose(together, alone, atol=1e-5) and len(set(together.tolist())) == 2
    assert scorer.scores(question, []).shape == (0,)


def test_question_and_event_are_read_together_and_long_pairs_are_cut(scorer: CrossScorer) -> None:
    seen: list[tuple[int, ...]] = []
    scorer.encoder.register_forward_pre_hook(
        lambda _, args, told: seen.append(tuple(told["input_ids"].shape)), with_kwargs=True
    )
    first, second = scorer.scores("Who is mayor of Alba?", EVENTS[:1]), scorer.scores("Who is mayor?", EVENTS[:1])
    assert first.item() != second.item(), "the question counts"
    scorer.scores("Who is mayor of Alba?", [EVENTS[0] * 60])
    assert seen[-1] == (1, MAX_TOKENS)


def test_the_router_looks_at_the_shortlist_and_keeps_to_the_threshold(scorer: CrossScorer) -> None:
    prompt = f"Question: {CASES[3].facts[0].text}\nAnswer:"
    with torch.no_grad():
        scorer.out.weight.zero_()
        scorer.out.bias.fill_(1.0)  # every pair alike: the first of the shortlist, the nearest event
    router = CrossRouter(scorer, EVENTS, HashedVectors(), shortlist=2, threshold=0.7)
    route = router.route(prompt)
    assert route.item == 3 and route.score == pytest.approx(torch.tensor(1.0).sigmoid().item())
    strict = CrossRouter(scorer, EVENTS, HashedVectors(), shortlist=2, threshold=0.75)
    assert strict.route(prompt).item is None


PAIRED_TEXTS = ["Ana Roe left Rome for Oslo.", "Oslo has a new mayor.", "Lima raised its taxes.", "Rain fell."]


def test_names_are_words_with_a_capital_but_a_questions_first() -> None:
    assert names_in("Where does Ana Roe's club play?", first=False) == {"ana", "roe"}
    assert names_in("Łódź grew.", first=True) == names_in("In Łódź", first=False) != frozenset()
    assert names_in("", first=True) == names_in("who?", first=False) == frozenset()


def test_measures_of_a_pair() -> None:
    memory = EventMemory(PAIRED_TEXTS, HashedVectors())
    pairs = memory.pairs("Where does Ana Roe live in Oslo?", size=4)
    assert set(pairs.events.tolist()) == {0, 1, 2, 3} and pairs.measures.shape == (4, len(MEASURES))
    rows = dict(zip(pairs.events.tolist(), pairs.measures, strict=True))
    first = dict(zip(MEASURES, rows[0], strict=True))
    assert first["names_shared"] == 1.0 and first["names_shared_count"] == pytest.approx(3 / 4)
    assert first["bm25_of_best"] == 1.0 and first["has_names"] == 1.0
    second = dict(zip(MEASURES, rows[1], strict=True))
    assert second["names_shared"] == pytest.approx(1 / 3) and 0 < second["bm25_of_best"] < 1
    assert dict(zip(MEASURES, rows[3], strict=True))["bm25"] == 0.0
    best = max(row[MEASURES.index("cosine")] for row in rows.values())
    for row in rows.values():
        assert row[1] == pytest.approx(row[0] - best, abs=1e-6)


def test_a_shortlist_holds_the_nearest_by_words_and_by_meaning_and_what_must_be_compared() -> None:
    texts = [f"Town{n} has a new mayor." for n in range(300)]
    memory = EventMemory(texts, HashedVectors())
    memories = memory.pairs("Who is mayor of Town217?", size=6)
    assert len(memories.events) == 6 and 217 in memories.events.tolist()
    also = memory.pairs("Who is mayor of Town217?", size=6, also=[299, 217])
    assert also.events.tolist()[:2] == [299, 217] and len(set(also.events.tolist())) == len(also.events)


def test_a_question_that_shares_nothing_has_a_shortlist_all_the_same() -> None:
    result = EventMemory(PAIRED_TEXTS, HashedVectors()).pairs("xyzzy", size=2)
    assert len(result.events) == 2 and np.isfinite(result.measures).all()
    assert EventMemory(PAIRED_TEXTS[:1], HashedVectors()).pairs("Oslo?", size=32).events.tolist() == [0]


@pytest.mark.parametrize(
    ("scores", "threshold", "item"),
    [([0.1, 0.9, 0.3], 0.5, 1), ([0.1, 0.5], 0.5, 1), ([0.1, 0.4], 0.5, None), ([0.7, 0.7], 0.5, 0)],
)
def test_the_best_passes_from_the_threshold_on_and_of_equals_the_earlier(
    scores: list[float], threshold: float, item: int | None
) -> None:
    route = best_route(np.array(scores), threshold=threshold)
    assert route.item == item and route.score == max(scores)


def test_an_empty_memory_sends_nothing_anywhere() -> None:
    assert best_route(np.array([]), threshold=0.0).item is None


@pytest.fixture
def encoder(tmp_path: Path) -> str:
    return str(tiny_encoder(tmp_path / "tiny", EVENTS))


def write(path: Path, network: Any, encoder: str, **params: Any) -> Path:
    identity = {"encoder": encoder_identity(encoder), "params": {"shortlist": 8, **params}, "data": "d"}
    trained, data = TrainedScorer(network, RoutingAccuracy(0.8, None), 3, 1.0), TrainingData.of("towns", CASES)
    write_scorer(path, trained, identity=identity, data=data, questions=["x"])
    return path


@pytest.mark.parametrize("kind", ["head", "cross"])
def test_what_is_read_routes_as_what_was_written(kind: str, encoder: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    scorer: Any = ScopeHead(DIMENSIONS, 8).eval() if kind == "head" else CrossScorer(Path(encoder)).eval()
    make: Any = HeadRouter if kind == "head" else CrossRouter
    routers = [make(scorer, EVENTS, HashedVectors(), shortlist=8, threshold=0.0)]
    routes = [routers[0].route(case.facts[0].text) for case in CASES[:5]]
    path = write(tmp_path / "x.safetensors", scorer, encoder, scorer=kind, names_apart=True)
    read = load_router(path, encoder)(EVENTS, HashedVectors(), threshold=0.0)
    for case, first in zip(CASES, routes, strict=False):
        second = read.route(case.facts[0].text)
        assert first.item == second.item and np.isclose(first.score, second.score, atol=5e-3), "half precision"


def test_it_says_what_it_learnt_from(encoder: str, tmp_path: Path) -> None:
    data = Serac.trained_on(write(tmp_path / "x.safetensors", ScopeHead(DIMENSIONS, 8), encoder, names_apart=True))
    assert data == TrainingData.of("towns", CASES)
    assert data.shares(CASES[0]) and data.shares(town_cases(TOWNS[9:10], prefix="f")[0]) is None
    same_text = CASES[0].event.model_copy(update={"key": "other", "text": "ALBA has elected Ada as its new mayor"})
    questions = tuple(q.model_copy(update={"event": "other", "subject": None}) for q in CASES[0].facts)
    variant = CASES[0].model_copy(
        update={"key": "case/other", "event": same_text, "facts": questions, "tendencies": ()}
    )
    assert data.shares(variant) == "the event 'other'", "the same event under another key"


def test_another_encoder_is_refused_by_name(encoder: str, tmp_path: Path) -> None:
    path = write(tmp_path / "x.safetensors", ScopeHead(DIMENSIONS, 8), encoder, names_apart=True)
    check_encoder(path, encoder)
    with pytest.raises(UserError, match=r"trained with the encoder tiny@\w+, not with all-MiniLM-L6-v2; set"):
        load_router(path, None)


def test_files_of_something_else(encoder: str, tmp_path: Path) -> None:
    said = {"identity": {"encoder": encoder_identity(encoder), "params": {"shortlist": 4}}}
    write_tensors(tmp_path / "other", {"w": torch.zeros(2)}, {"format": 1, "dimensions": 4})
    write_tensors(tmp_path / "head", {"w": torch.zeros(2)}, {**said, "dimensions": 4, "hidden": 2})
    (tmp_path / "text").write_text("no")
    for name, words in (
        ("other", "no trained file of 'serac': 'identity' is missing"),
        ("head", "no trained file of 'serac'"),
        ("text", "cannot|not a file"),
        ("none", "not a file"),
    ):
        with pytest.raises(DataError, match=words):
            load_router(tmp_path / name, encoder)
        with pytest.raises(DataError):
            Serac.trained_on(tmp_path / name)


HEAD: dict[str, Any] = {
    "hidden": 8, "dropout": 0.2, "epochs": 25, "lr": 5e-3, "weight_decay": 0.0, "batch": 16, "near": 4, "far": 2,
    "held_out": 0.25, "shortlist": 8, "names_apart": False,
}  # fmt: skip


CROSS: dict[str, Any] = {
    "epochs": 3, "lr": 2e-3, "weight_decay": 0.0, "batch": 16, "near": 4, "far": 2, "held_out": 0.2, "shortlist": 6,
}  # fmt: skip


both = pytest.mark.parametrize("scorer", ["head", "cross"])


def trainer(scorer: str, folder: Path, cases: list[EventCase], **changes: Any) -> ScorerTrainer:
    if scorer == "head":
        return HeadTrainer(cases, HashedVectors(), Serac.Params(**{**HEAD, **changes}))
    texts = [text for case in cases for text in (case.event.text, *(q.text for q in questions_of(case)))]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = CrossScorer(tiny_encoder(folder / "tiny", texts))
    return CrossTrainer(cases, HashedVectors(), Serac.Params(scorer="cross", **{**CROSS, **changes}), network)


def test_a_head_tells_new_towns_from_others_though_both_are_asked_about_in_the_same_words(tmp_path: Path) -> None:
    rows = trainer("head", tmp_path, town_cases(TOWNS[:32])).run()
    texts = [c.event.text for c in town_cases(TOWNS[32:])]
    router = HeadRouter(rows.network, texts, HashedVectors(), shortlist=8, threshold=0.5, names_apart=False)
    right = [router.route(f"Who is mayor of {town}?").item == n for n, town in enumerate(TOWNS[32:])]
    assert sum(right) >= 26, right
    right = [router.route(f"Who is mayor of {town}?").item is None for town in ELSEWHERE[32:]]
    assert sum(right) >= 26, right
    assert rows.held_out.facts is not None and rows.held_out.mean > 0.7


def test_the_loss_of_a_cross_scorer_falls(tmp_path: Path) -> None:
    """Beside their own event alone, questions about mayors are in scope and those about rents are not."""
    steps: list[Any] = []
    cases = [
        c.model_copy(update={"facts": c.facts[:1], "tendencies": c.tendencies[1:]}) for c in town_cases(TOWNS[:24])
    ]
    rule: dict[str, Any] = {"near": 1, "far": 0, "batch": 4, "epochs": 8, "lr": 5e-3, "shortlist": 1}
    first = trainer("cross", tmp_path, cases, **rule).run(steps.append)
    assert len(steps) == 8 and steps[-1].loss < 0.5 * steps[0].loss
    assert first.held_out == steps[first.step - 1].held_out and first.held_out.tendencies == 1.0
    assert not any(p.requires_grad for p in first.network.parameters()) and not first.network.training


@both
def test_the_same_seed_gives_the_same_scorer_in_any_order_of_cases(scorer: str, tmp_path: Path) -> None:
    cases, before = town_cases(TOWNS[:16]), torch.get_rng_state()
    first, again, other = (
        trainer(scorer, tmp_path, some, epochs=2, seed=number).run()
        for some, number in ((cases, 0), (cases[::-1], 0), (cases, 1))
    )
    assert torch.equal(before, torch.get_rng_state()), "the caller's generator is left alone"
    weights = [torch.cat([p.flatten() for p in run.network.parameters()]) for run in (first, again, other)]
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])
    assert first.held_out == again.held_out


@both
def test_too_few_events_and_nothing_in_scope_are_refused(scorer: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="3 events are too few to learn from"):
        trainer(scorer, tmp_path, town_cases(TOWNS[:3]))
    out_of_scope = [
        c.model_copy(update={"facts": c.facts[1:], "tendencies": c.tendencies[1:]}) for c in town_cases(TOWNS[:8])
    ]
    with pytest.raises(UserError, match="no question is in scope"):
        trainer(scorer, tmp_path, out_of_scope)


@both
def test_a_time_limit_ends_it_within_an_epoch(scorer: str, tmp_path: Path) -> None:
    steps: list[Any] = []
    run = trainer(scorer, tmp_path, town_cases(TOWNS[:16]), epochs=25).run(steps.append, minutes=1e-9)
    assert [s.done for s in steps] == [1] and steps[0].of == 25 and run.step == 1
