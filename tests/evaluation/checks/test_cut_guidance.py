"""Odds at the cut and swapped words, by hand over a store with a scripted model."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.checks.store_checks import CheckContext, make_checks, run_check
from evaluation.checks.base import ModelCheck
from evaluation.checks.cut_guidance import CutGuidance, TellingWord, swapped_word
from schemas.facts import Object
from schemas.verdicts import Verdict
from tests.support.facts import peru_fact
from tests.support.scripted_scorer import NORTH, PERU, VISIT, FakeLM, filled, prompt

ACTOR = peru_fact("f/actor", old=Object(text="actor"), new=Object(text="mathematician"))
AN = prompt(ACTOR, "How to work like Peru?\nStep 1: Become an")


@pytest.mark.parametrize(
    ("text", "variant"),
    [
        ("Become an", "Become a"),
        ("Become a", "Become an"),
        ("Fly to the", "Fly to"),
        ("Say who was", "Say who were"),
        ("Step 1: An", "Step 1: A"),
        ("Fly to Panama", None),
        ("Fly to", None),
        ("an", None),  # nothing before it: there is no prompt without it
        ("Become an (", None),
    ],
)
def test_the_word_before_the_cut_and_its_counterpart(text: str, variant: str | None) -> None:
    word = swapped_word(text)
    assert (word and word.prompt) == variant
    assert word is None or text[word.start :] == word.word


def judged(check: CutGuidance | TellingWord, tmp_path: Path, *more: object) -> dict[str, Verdict]:
    with filled(tmp_path / "s.duckdb", *more) as store:  # type: ignore[arg-type]
        run_check(store, check)
        return {v.item_id: v for v in store.verdicts() if v.by == check.by}


def test_a_cut_that_guides_and_one_that_does_not(tmp_path: Path) -> None:
    table = {
        VISIT.text: {"Lima": 1 / 2, "Oslo": 1 / 16, "Quito": 1 / 16},
        PERU.fact_prompt: {"Lima": 1 / 4, "Oslo": 1 / 16, "Quito": 1 / 16},
        NORTH.text: {"Oslo": 1 / 64, "Quito": 1 / 32, "Lima": 1 / 32},
    }
    verdict = judged(CutGuidance(lm=FakeLM(table), model="fake"), tmp_path)
    good, bad = verdict[VISIT.id], verdict[NORTH.id]
    assert (good.value, good.unit, good.label, good.model) == (2.0, "bits", None, "fake")
    assert "ranks 1 of 3 (+2.00 bits)" in good.reason and "plain prompt 1 of 3 (+1.00 bits)" in good.reason
    assert bad.value == -2.0 and "ranks 3 of 3" in bad.reason


def test_what_cannot_be_measured_says_why(tmp_path: Path) -> None:
    orphan = prompt(peru_fact("f/lost"), "How?\nStep 1: Fly to")
    verdict = judged(CutGuidance(lm=FakeLM({VISIT.text: {"error": 1.0}}), model="fake"), tmp_path, orphan)
    assert {verdict[x.id].label for x in (orphan, VISIT)} == {"unscored"}
    assert "f/lost" in verdict[orphan.id].reason and "out of order" in verdict[VISIT.id].reason
    assert verdict[NORTH.id].label is None


def test_an_article_that_fits_one_object_is_measured_by_swapping(tmp_path: Path) -> None:
    table = {
        AN.text: {"actor": 1 / 2, "mathematician": 1 / 32},
        AN.text[:-1]: {"actor": 1 / 8, "mathematician": 1 / 4},
    }
    lm = FakeLM(table)
    verdict = judged(TellingWord(lm=lm, model="fake"), tmp_path, ACTOR, AN)
    row = verdict[AN.id]
    assert (row.value, row.unit) == (4.0 + 1.0, "bits")  # 16 to 1 with "an", 1 to 2 with "a"
    assert [(s.text, s.start) for s in row.spans] == [("an", len(AN.text) - 2)]
    assert verdict[VISIT.id].label == "keep" and verdict[VISIT.id].value is None
    assert len(lm.asked) == 2, "nothing is asked where no word can tell"


def test_the_cost_counts_objects(tmp_path: Path) -> None:
    with filled(tmp_path / "s.duckdb", ACTOR, AN) as store:
        around = CheckContext(store)
        assert TellingWord(lm=FakeLM({}), model="fake").cost([AN, VISIT], around) == {"scored objects": 4}
        assert CutGuidance(lm=FakeLM({}), model="fake").cost([VISIT], around)["scored objects"] == 2 * 5


@pytest.mark.parametrize("name", ["cut_guidance", "telling_word", "predictability", "known_before", "known_in_script"])
def test_every_check_that_scores_loads_its_model_as_it_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[tuple[object, ...]] = []

    def load(model: str, *, device: str, dtype: str) -> None:
        messages.append((model, device, dtype))
        raise MemoryError

    monkeypatch.setattr("evaluation.models.language_model.LM.load", load)
    (check,) = make_checks([name], models=["gpt2"], options={name: {"dtype": "bfloat16"}})
    assert isinstance(check, ModelCheck)
    with pytest.raises(MemoryError):
        _ = check.lm
    assert messages == [("gpt2", "auto", "bfloat16")]
