"""Ranks of the old object by hand, over a store, and on a tiny model against plain sorting."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.checks.store_checks import run_check
from evaluation.checks.known_before import KnownBefore, KnownInScript, rank
from evaluation.inference.scoring import score
from schemas.answers import Answer, TargetScore
from schemas.core.errors import UserError
from schemas.probes import ScoreProbe
from tests.support.facts import peru_fact
from tests.support.scripted_scorer import NORTH, NORWAY, PERU, VISIT, FakeLM, filled, prompt
from tests.support.tiny import make


def answer(*values: tuple[float, int]) -> Answer:
    targets = tuple(TargetScore(text=str(i), logprob=v, tokens=n) for i, (v, n) in enumerate(values))
    return Answer(probe="p", targets=targets)


@pytest.mark.parametrize(
    ("values", "normalisation", "want"),
    [
        ([(-1, 1), (-2, 1), (-3, 1)], "sum", 1),
        ([(-3, 1), (-2, 1), (-1, 1)], "sum", 3),
        ([(-2, 1), (-2, 1), (-9, 1)], "sum", 2),  # a tie counts against the old object
        ([(-4, 4), (-2, 1)], "sum", 2),
        ([(-4, 4), (-2, 1)], "mean", 1),
    ],
)
def test_ranks(values: list[tuple[float, int]], normalisation: str, want: int) -> None:
    assert rank(answer(*values), normalisation=normalisation) == want


def test_rank_is_the_place_in_the_sorted_list() -> None:
    lm = make("gpt2")
    targets = ("Lima", "Oslo", "Quito", "Paris", "Madrid")
    (scores,) = score(lm, [ScoreProbe(purpose="check", item="i", prompt="The capital of Peru is", targets=targets)])
    order = sorted(scores.targets, key=lambda t: -t.logprob)
    assert rank(scores, normalisation="sum") == 1 + [t.text for t in order].index("Lima")


def test_facts_over_plain_prompts(tmp_path: Path) -> None:
    lm = FakeLM({PERU.fact_prompt: {"Lima": 1 / 2}, "The capital city of Peru is": {"Lima": 1 / 64}})
    with filled(tmp_path / "s.duckdb") as store:
        assert run_check(store, KnownBefore(lm=lm, model="fake")).labels == {"measured": 2}
        (peru,), (norway,) = store.verdicts([PERU.id]), store.verdicts([NORWAY.id])
    assert (peru.value, peru.unit, peru.model, peru.label) == (0.5, "share", "fake", None)
    assert "ranks 1, 3 of 3 under 2 plain prompts" in peru.reason
    assert norway.value == 0.0 and "ranks 3 of 3 under 1 plain prompts" in norway.reason  # all tie at 1/16


def test_script_prompts(tmp_path: Path) -> None:
    lm = FakeLM({NORTH.text: {"Oslo": 1 / 4, "Quito": 1 / 2}})
    orphan = prompt(peru_fact("f/lost"), "How to go?\nStep 1: Fly to")
    with filled(tmp_path / "s.duckdb", orphan) as store:
        assert run_check(store, KnownInScript(lm=lm, model="fake")).labels == {"measured": 2, "unscored": 1}
        (one,) = store.verdicts([NORTH.id])
        (visit,) = store.verdicts([VISIT.id])
    assert (one.value, one.unit) == (2.0, "rank") and "'Oslo' ranks 2 of 3" in one.reason
    assert visit.value == 3.0


def test_at_most_so_many_rivals_and_the_new_object_is_one(tmp_path: Path) -> None:
    lm = FakeLM({})
    more = [peru_fact(f"f/{n}", old=peru_fact().old.model_copy(update={"text": f"Town {n}"})) for n in range(9)]
    with filled(tmp_path / "s.duckdb", *more) as store:
        run_check(store, KnownInScript(KnownInScript.Params(rivals=4), lm=lm, model="fake"))
    for probe in lm.asked:
        assert len(probe.targets) == 5 and probe.targets[1] in ("Oslo", "Quito")


def test_errors_are_unscored(tmp_path: Path) -> None:
    lm = FakeLM({PERU.fact_prompt: {"error": 1.0}})
    fact = peru_fact("f/alone", relation=PERU.relation.model_copy(update={"id": "P999"}), new=None, change="none")
    with filled(tmp_path / "s.duckdb", fact) as store:
        run_check(store, KnownBefore(lm=lm, model="fake"))
        reasons = [v.reason for v in store.verdicts([PERU.id, fact.id]) if v.label == "unscored"]
    assert sorted(reasons) == ["no other object of the relation P999 is in the store", "the fake is out of order"]


def test_unknown_normalisation_refused() -> None:
    from curation.checks.store_checks import make_checks

    with pytest.raises(UserError, match="settings of known_before: normalisation"):
        make_checks(["known_before"], options={"known_before": {"normalisation": "max"}})
