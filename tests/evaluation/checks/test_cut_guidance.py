from __future__ import annotations

from pathlib import Path

import pytest

from curation.checks.store_checks import CheckContext, make_checks, run_check
from evaluation.checks.base import ModelCheck, model_label, rivals
from evaluation.checks.cut_guidance import CutGuidance, TellingWord, swapped_word
from schemas.facts import Object
from schemas.verdicts import Verdict
from tests.support.facts import make_fact, peru_fact
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


def objects(*texts: str) -> list[Object]:
    return [Object(text=t) for t in texts]


PERU_BASE = make_fact("Peru", Object(text="Lima", aliases=("Ciudad de los Reyes",)), "Oslo")


MANY = objects(*(f"Town {n}" for n in range(30)))


def test_rivals_are_drawn_alike_for_every_fact_of_a_relation() -> None:
    """Not by the fact, not by the order; taking more keeps those that were taken."""
    few = rivals(PERU_BASE, MANY, limit=5)
    assert len(set(few)) == 5 and few == rivals(PERU_BASE, MANY[::-1], limit=5)
    assert few == rivals(make_fact("Chad", "Bonn", "Rome"), MANY, limit=5) == rivals(PERU_BASE, MANY, limit=30)[:5]
    assert few != tuple(MANY[:5]) and few != rivals(make_fact("Peru", "Lima", relation="P35"), MANY, limit=5)


def test_who_shares_a_name_is_no_rival() -> None:
    free = [
        *objects("LIMA", "Bonn", "ciudad de los reyes"),
        Object(text="Capital of Peru", aliases=("lima",)),
        Object(text="Christiania", aliases=("Oslo",)),
    ]
    assert {o.text for o in rivals(PERU_BASE, free, limit=9)} == {"Bonn", "Christiania"}
    assert PERU_BASE.new is not None
    assert [o.text for o in rivals(PERU_BASE, free, limit=9, apart=[PERU_BASE.new])] == ["Bonn"]
    assert rivals(PERU_BASE, [], limit=9) == rivals(PERU_BASE, MANY, limit=0) == ()


def test_folders_go_by_their_last_part_and_hub_names_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Verdicts on two machines name one model alike, wherever its folder lies."""
    (tmp_path / "deep" / "mine").mkdir(parents=True)
    (tmp_path / "m.gguf").write_text("")
    assert model_label(str(tmp_path / "deep" / "mine")) == "mine" and model_label(f"{tmp_path}/deep/mine/") == "mine"
    assert model_label(str(tmp_path / "m.gguf")) == "m.gguf"
    monkeypatch.chdir(tmp_path / "deep" / "mine")
    assert model_label(".") == "mine"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert model_label("~/deep") == "deep"
    assert model_label("openai-community/gpt2-xl") == "openai-community/gpt2-xl"
