"""What a run consists of: which cases in which order, what is asked, and what makes two runs the same one."""

from __future__ import annotations

from typing import Any

import pytest

from curation.case_sources.opening import choose
from curation.splits.split_file import make_split
from evaluation.metrics.base import Metric
from evaluation.metrics.generation import Generation, GenerationChoice, load_metrics, metrics_of
from evaluation.runs.plan import ask, make_manifest, plain_params, support_for
from evaluation.runs.validity_variants import VARIANTS
from schemas.cases import EventCase
from schemas.core.errors import UserError
from schemas.probes import GenerateProbe
from tests.support.arithmetic import ArithmeticEditor, ArithmeticLM, go, make_case, make_cases
from tests.support.events import MOVE, event_case, make_event, make_fact_question


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"params": {"strength": 4.0}}, id="parameters"),
        pytest.param({"revision": "2"}, id="model revision"),
        pytest.param({"split": make_cases(3, 1)}, id="split"),
        pytest.param({"dtype": "bfloat16"}, id="precision"),
        pytest.param({"attention": "eager"}, id="another attention than the usual"),
        pytest.param({"version": 2}, id="version of the method"),
        pytest.param({"components": {"corpus": "abc"}}, id="what the method was built from"),
    ],
)
def test_what_changes_a_run_id(change):
    def key(**fields: Any) -> str:
        editor = ArithmeticEditor("push", fields.get("params", {}))
        editor.version = fields.get("version", 1)
        editor.components = fields.get("components", {})
        lm = ArithmeticLM(
            revision=fields.get("revision", "1"),
            name=fields.get("name", "a"),
            other_attention=fields.get("attention", ""),
        )
        split = fields.get("split") or make_cases()
        return make_manifest(editor, scorer=lm, dtype=fields.get("dtype", "float32"), split=split).key

    assert key() == key() == key(name="the same model under another name")
    assert key(**change) != key()


@pytest.mark.parametrize(
    ("limit", "kinds", "count"),
    [
        pytest.param(None, ("counterfactual", "temporal"), 6, id="all"),
        pytest.param(3, ("counterfactual", "temporal"), 3, id="number"),
        pytest.param({"counterfactual": 2, "temporal": 1}, ("counterfactual", "temporal"), 3, id="by kind"),
        pytest.param({"temporal": 9}, ("counterfactual", "temporal"), 2, id="more than there are"),
        pytest.param(None, ("temporal",), 2, id="one kind"),
    ],
)
def test_choose(limit, kinds, count):
    cases = choose(make_cases(), limit=limit, kinds=kinds)
    assert len(cases) == len({c.key for c in cases}) == count
    assert cases == choose(make_cases(), limit=limit, kinds=kinds)


def test_a_larger_limit_keeps_the_order_of_a_smaller() -> None:
    """Of all kinds or of each: the first so many are the same ones, so finished cases stay good."""
    split = make_cases(12, 6)
    for few, many in ((3, 9), ({"counterfactual": 2}, {"counterfactual": 7, "temporal": 3})):
        small, large = choose(split, limit=few), choose(split, limit=many)
        assert large[: len(small)] == small
    kinds = [c.fact.change for c in choose(split, limit={"temporal": 2, "counterfactual": 1})]
    assert kinds == ["temporal", "temporal", "counterfactual"], "kinds stand as they are named"


def test_another_split_has_another_order() -> None:
    one, two = make_cases(20, 0), make_cases(20, 1)
    keys = [c.key for c in choose(one)]
    assert sorted(keys) == sorted(c.key for c in choose(two, kinds=("counterfactual",)))
    assert keys != [c.key for c in choose(two, kinds=("counterfactual",))]


@pytest.mark.parametrize("limit", [0, {}, {"temporal": 0}, {"temporal": 3}])
def test_a_limit_that_leaves_nothing_is_refused(limit: Any) -> None:
    with pytest.raises(UserError, match="loosen kinds or limit"):
        choose(make_cases(3, 0), limit=limit)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"kinds": ["counterfact"]},
            r"^kinds: .*'counterfact', did you mean 'counterfactual'\?; allowed: ",
        ),
        ({"limit": {"real": 3}}, r"^limit: no edit of the split 'tiny' is of the kind 'real'; allowed: counterfactual"),
    ],
)
def test_an_unknown_kind_is_named_with_the_nearest(more: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        choose(make_cases(), **more)


def test_events_are_chosen_by_their_types() -> None:
    other = make_event(MOVE, "Corvo Foods moved to Turin.", type="headquarters")
    other_case = EventCase(key="case/e/move", event=other, facts=(make_fact_question(event=MOVE),))
    split = make_split("events", [event_case(), other_case])
    assert {c.key for c in choose(split)} == {"case/e/merger", "case/e/move"}
    assert [c.key for c in choose(split, kinds=("headquarters",))] == ["case/e/move"]
    assert [c.key for c in choose(split, limit={"merger": 5})] == ["case/e/merger"]
    with pytest.raises(UserError, match="no edit of the split 'events' is of the kind 'merge', did you mean 'merger'"):
        choose(split, kinds=("merge",))


def test_equal_questions_are_asked_once() -> None:
    case = make_case("Peru")
    one, two = load_metrics(["es"]), load_metrics(["es", "ps", "es"])
    assert [p.id for p in ask(case, two)] == [
        p.id for p in dict.fromkeys([*ask(case, one), *ask(case, load_metrics(["ps"]))])
    ]
    assert len({p.id for p in ask(case, two)}) == len(ask(case, two))
    assert ask(case, []) == ()


def sampled(metrics: tuple[Metric, ...]) -> list[GenerateProbe]:
    return [p for p in ask(make_case("Peru"), metrics) if isinstance(p, GenerateProbe)]


def test_texts_are_asked_for_as_the_run_says() -> None:
    """How texts are written comes from the run's configuration; seeds from the split, so that runs are comparable."""
    choice = GenerationChoice(temperature=0.7, step_tokens=9)
    probes = sampled(load_metrics(["s_es_gen"], Generation(choice, "digest")))
    assert {(p.temperature, p.most) for p in probes} == {(0.7, 9)}
    assert {p.seed for p in sampled(load_metrics(["s_es_gen"]))} == {0}, "nothing is drawn at temperature 0"
    assert len({p.seed for p in probes}) > 1
    other = sampled(load_metrics(["s_es_gen"], Generation(choice, "another")))
    assert [p.seed for p in other] != [p.seed for p in probes]
    record = {
        "metrics": ["s_es_gen"],
        "split_digest": "digest",
        "config": {"generation": choice.model_dump(mode="json")},
    }
    assert sampled(metrics_of(record)) == probes, "a finished run asks what it asked then"


def test_options_are_plain_values_of_either_form() -> None:
    editor = ArithmeticEditor("push", {"strength": 2, "fail": ["a"]})
    assert plain_params(editor) == {"strength": 2.0, "fail": ["a"]}
    editor.params = {"strength": 2}  # type: ignore[assignment]
    assert plain_params(editor) == {"strength": 2}


class Learner(ArithmeticEditor):
    """Depends on the support where its strength is above 1."""

    @classmethod
    def wants_support(cls, options: Any) -> bool:
        return bool(options["strength"] > 1)


def key(editor: ArithmeticEditor, **more: Any) -> str:
    return make_manifest(editor, scorer=ArithmeticLM(), dtype="float32", split=make_cases(2, 0), **more).key


def test_the_support_counts_for_methods_that_learn_from_it() -> None:
    plain, learner = ArithmeticEditor("push", {}), Learner("push", {"strength": 5})
    assert key(plain, support="abc") == key(plain)
    assert key(learner, support="abc") != key(learner) != key(learner, support="def")
    assert key(Learner("push", {"strength": 1}), support="abc") == key(Learner("push", {"strength": 1}))
    cases = make_cases(2, 0).cases
    assert support_for(learner, cases) == cases and not support_for(plain, cases), "who is not named learns nothing"


def test_regime_and_variant_make_another_run() -> None:
    editor, names = ArithmeticEditor("push", {}), VARIANTS.names()
    texts = [key(editor), key(editor, regime="batch:2"), *(key(editor, variant=VARIANTS.get(n)) for n in names)]
    assert len(set(texts)) == len(texts) == 2 + len(names)


def test_the_manifest_names_what_the_key_leaves_out(tmp_path: Any) -> None:
    outcomes, _ = go(tmp_path, limit=1)
    manifest = outcomes["push"].manifest
    assert (manifest.model, manifest.split, manifest.editor) == ("arithmetic", "tiny@1.0.0", "push")
