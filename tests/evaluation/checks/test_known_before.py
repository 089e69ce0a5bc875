from __future__ import annotations

from pathlib import Path

import pytest

from curation.checks.store_checks import CheckContext, due, make_checks, run_check
from evaluation.checks.base import ModelCheck, model_label, rivals
from evaluation.checks.cut_guidance import CutGuidance, TellingWord, swapped_word
from evaluation.checks.known_before import KnownBefore, KnownInScript, rank
from evaluation.checks.predictability import Predictability, bits, masked_probes
from schemas.answers import Answer, TargetScore
from schemas.core.errors import UserError
from schemas.facts import Object
from schemas.probes import ScoreProbe
from schemas.verdicts import Verdict
from tests.support.facts import make_fact, peru_fact
from tests.support.scripted_scorer import NORTH, NORWAY, PERU, VISIT, FakeLM, filled, prompt


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


NEUTRAL = "The capital of X is"


MASKED = {
    VISIT.id: "How can I visit X's capital?\nStep 1: Book a flight\nStep 2: Fly to",
    NORTH.id: "How to see the north?\nStep 1: Leave X and come back to",
}


def asked(*targets: str) -> list[ScoreProbe]:
    return masked_probes(VISIT.text, PERU.subject, PERU.prompt, ("Lima", *targets))


def test_worked_by_hand() -> None:
    """What a neutral prompt raises as much is prior knowledge of the relation, not the script's doing."""
    script, neutral = asked("Oslo", "Quito")
    assert (script.prompt, neutral.prompt) == (MASKED[VISIT.id], NEUTRAL)
    assert script.targets == neutral.targets == ("Lima", "Oslo", "Quito")
    high = {"Lima": 1 / 2, "Oslo": 1 / 16, "Quito": 1 / 16}  # odds 4: 2 bits
    low = {"Lima": 1 / 8, "Oslo": 1 / 4, "Quito": 1 / 4}  # odds 1/4: -2 bits
    for plain, value in ((low, 4.0), (high, 0.0)):
        assert bits(FakeLM({script.prompt: high, NEUTRAL: plain}).score([script, neutral])) == pytest.approx(value)


def test_over_a_store(tmp_path: Path) -> None:
    lm = FakeLM({MASKED[VISIT.id]: {"Lima": 1 / 2}})
    check = Predictability(lm=lm, model="fake")
    with filled(tmp_path / "s.duckdb") as store:
        outcome = run_check(store, check)
        assert (outcome.due, outcome.labels, outcome.left) == (2, {"measured": 2}, 0)
        (one,) = store.verdicts([VISIT.id])
        assert one.label is None and one.unit == "bits" and one.model == "fake" and one.by == "predictability@1"
        assert one.value == pytest.approx(3.0)  # Lima 8 times as likely as under the neutral prompt
        assert "'Lima' +3.00 bits against 2 rivals" in one.reason
        (other,) = store.verdicts([NORTH.id])
        assert other.value == pytest.approx(0.0)
        assert due(store, check) == []
        assert len(due(store, Predictability(lm=lm, model="another"))) == 2
    neutral = [p for p in lm.asked if p.prompt == NEUTRAL]
    assert len({p.id for p in neutral}) == len(neutral), "a neutral prompt is asked once for the same objects"
    assert [p.separator for p in lm.asked if p.prompt == MASKED[NORTH.id]] == [" ("]


def test_what_cannot_be_measured_is_unscored_with_a_reason(tmp_path: Path) -> None:
    fact = peru_fact("f/alone", relation=PERU.relation.model_copy(update={"id": "P999"}), new=None, change="none")
    orphan = prompt(peru_fact("f/lost"), "How to go?\nStep 1: Fly to")
    single = prompt(fact, "How to stay?\nStep 1: Stay in")
    lm = FakeLM({MASKED[NORTH.id]: {"error": 1.0}})
    with filled(tmp_path / "s.duckdb", fact, orphan, single) as store:
        assert run_check(store, Predictability(lm=lm, model="fake")).labels == {"unscored": 3, "measured": 1}
        for item, reason in (
            (orphan, "'f/lost' is not in the store"),
            (single, "no other object"),
            (NORTH, "out of order"),
        ):
            (one,) = store.verdicts([item.id])
            assert one.label == "unscored" and one.value is None and reason in one.reason


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


def test_rivals_are_the_first_of_their_relation() -> None:
    few = rivals(PERU_BASE, MANY, limit=5)
    assert few == tuple(MANY[:5]) == rivals(make_fact("Chad", "Bonn", "Rome"), MANY, limit=5)
    assert few == rivals(PERU_BASE, MANY, limit=30)[:5], "taking more keeps those that were taken"


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
