"""What checks with a model share: whose scorer, which rivals, what is asked once."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from curation.files.model_packages import EMBEDDED_LABEL
from evaluation.checks.base import ModelCheck, ModelParams, cached_scores, model_label, problem, rivals
from schemas.answers import Answer
from schemas.facts import Object
from schemas.probes import ScoreProbe
from tests.support.facts import make_fact
from tests.support.scripted_scorer import FakeLM
from tests.support.tiny import make


def objects(*texts: str) -> list[Object]:
    return [Object(text=t) for t in texts]


PERU = make_fact("Peru", Object(text="Lima", aliases=("Ciudad de los Reyes",)), "Oslo")
MANY = objects(*(f"Town {n}" for n in range(30)))


def test_rivals_are_drawn_alike_for_every_fact_of_a_relation() -> None:
    """Not by the fact, not by the order; taking more keeps those that were taken."""
    few = rivals(PERU, MANY, limit=5)
    assert len(set(few)) == 5 and few == rivals(PERU, MANY[::-1], limit=5)
    assert few == rivals(make_fact("Chad", "Bonn", "Rome"), MANY, limit=5) == rivals(PERU, MANY, limit=30)[:5]
    assert few != tuple(MANY[:5]) and few != rivals(make_fact("Peru", "Lima", relation="P35"), MANY, limit=5)


def test_a_new_object_moves_few_rivals() -> None:
    before, after = rivals(PERU, MANY, limit=10), rivals(PERU, [*MANY, *objects("Newtown")], limit=10)
    assert len(set(before) & set(after)) >= 9


def test_who_shares_a_name_is_no_rival() -> None:
    free = [
        *objects("LIMA", "Bonn", "ciudad de los reyes"),
        Object(text="Capital of Peru", aliases=("lima",)),
        Object(text="Christiania", aliases=("Oslo",)),
    ]
    assert {o.text for o in rivals(PERU, free, limit=9)} == {"Bonn", "Christiania"}
    assert PERU.new is not None
    assert [o.text for o in rivals(PERU, free, limit=9, apart=[PERU.new])] == ["Bonn"]
    assert rivals(PERU, [], limit=9) == rivals(PERU, MANY, limit=0) == ()


def probe(n: int) -> ScoreProbe:
    return ScoreProbe(purpose="script", item="i", prompt=f"prompt {n}", targets=("a",))


def test_a_probe_is_asked_once() -> None:
    lm, memory = FakeLM({}), dict[str, Answer]()
    scores = cached_scores(lm, [probe(1), probe(2), probe(1)], memory)
    assert [a.probe for a in scores] == [probe(1).id, probe(2).id, probe(1).id] and len(lm.asked) == 2
    answers = cached_scores(lm, [probe(2), probe(3)], memory)
    assert answers[0] == scores[1] and [p.prompt for p in lm.asked] == ["prompt 1", "prompt 2", "prompt 3"]
    assert cached_scores(lm, [], memory) == [] and cached_scores(lm, [probe(3)], memory) == answers[1:]
    assert len(lm.asked) == 3


def test_a_scorer_that_loses_an_answer_is_a_fault() -> None:
    class Lossy(FakeLM):
        def score(self, probes: Any) -> list[Answer]:
            return super().score(probes)[:-1]

    with pytest.raises(ValueError, match="zip"):
        cached_scores(Lossy({}), [probe(1), probe(2)], {})


def test_the_first_problem_is_told() -> None:
    good, bad, worse = (Answer(probe=p, error=e) if e else Answer(probe=p, targets=()) for p, e in
                        (("a", ""), ("b", "too long"), ("c", "no token")))  # fmt: skip
    assert problem() is None and problem(good, good) is None
    assert problem(good, bad, worse) == "too long"


class Check(ModelCheck):
    """A check for this test alone."""

    name: ClassVar[str] = "check"
    version: ClassVar[int] = 3
    on: ClassVar[str] = "fact"
    about: ClassVar[str] = "x"

    Params = ModelParams


def test_a_model_is_loaded_when_it_is_first_needed_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from evaluation.models.language_model import LM

    import_result: list[tuple[str, str, str]] = []

    def load(name: str, *, device: str, dtype: str) -> LM:
        import_result.append((name, device, dtype))
        return make("llama")

    monkeypatch.setattr(LM, "load", load)
    check = Check(ModelParams(device="cpu", dtype="bfloat16"), model="models/gpt2-xl")
    assert (check.by, check.model) == ("check@3", "models/gpt2-xl") and import_result == []
    assert check.lm is check.lm and import_result == [("models/gpt2-xl", "cpu", "bfloat16")]
    (answer,) = check.lm.score([probe(1)])
    assert answer.error is None and answer.targets[0].logprob < 0


def test_a_scorer_that_is_there_is_used() -> None:
    lm = FakeLM({})
    assert Check(lm=lm).lm is lm and Check(lm=lm).model == EMBEDDED_LABEL


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
