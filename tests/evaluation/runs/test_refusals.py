"""Refusals before a run: what was trained on evaluated cases, and a method without the support that it needs."""

from __future__ import annotations

import pytest

from curation.case_sources.support import Support, TrainingData
from curation.splits.split_file import Split, make_split
from evaluation.editors.presets import check_options
from evaluation.regimes.config import RegimeChoice
from evaluation.runs.config import RunConfig
from evaluation.runs.refusals import check_run, check_sequence, check_support, refuse_overlap
from schemas.core.errors import UserError
from tests.support.arithmetic import make_case
from tests.support.documents.records import document_case
from tests.support.evaluation.runner_of import check_methods
from tests.support.events import event_case


def test_what_was_learnt_from_evaluated_cases_is_refused() -> None:
    training_data = TrainingData.of("theirs", [make_case("Land01"), make_case("Other")])
    refuse_overlap(training_data, make_split("e", [make_case("Elsewhere")]), where="x")
    with pytest.raises(UserError, match=r"editors.m: it learnt from theirs, .*'case/land01'.*1 of 2 cases"):
        refuse_overlap(training_data, make_split("e", [make_case("Land01"), make_case("Elsewhere")]), where="editors.m")


def test_a_method_that_learns_needs_support() -> None:
    config = RunConfig.model_validate({"split": "mini", "editors": ["ike", "ft"], "out": "o"})
    split, cases = make_split("e", [make_case("Land01")]), (make_case("Elsewhere"),)
    check_methods(config, split, Support(cases, "digest", "theirs"))
    with pytest.raises(UserError, match=r"editors.ike: 'ike' learns from declared cases, and none are declared"):
        check_methods(config, split)


def test_methods_and_metrics_of_another_type_are_refused_before_a_model_is_loaded() -> None:
    """Nothing here is a model's name that could be loaded."""
    events, facts = make_split("e", [event_case()]), make_split("f", [make_case("Land01")])

    def check(*editors: object, split: Split) -> None:
        config = RunConfig.model_validate({"split": "mini", "editors": list(editors), "out": "o"})
        check_methods(config, split)

    check("none", split=events)
    with pytest.raises(UserError, match=r"editors.rome: 'rome' takes facts, this split's edits are events; .*none"):
        check("rome", split=events)
    with pytest.raises(UserError, match=r"variant 'masked' takes facts, this split's edits are events"):
        check({"name": "none", "label": "m", "variant": "masked"}, split=events)
    documents = make_split("d", [document_case()])
    with pytest.raises(UserError, match=r"editors.lora.params: edit_format is for fact prompts, .* are documents"):
        check({"name": "lora", "params": {"edit_format": "chat"}}, split=documents)
    config = RunConfig.model_validate({"split": "mini", "editors": ["none"], "metrics": ["collapse", "es"], "out": "o"})
    options = {"none": check_options("none", "gpt2-xl", {}, where="none")}
    check_run(config, options, split=facts, support=Support(), cases=1)
    with pytest.raises(UserError, match=r"metrics: the metric 'es' takes facts, .* are events; allowed: .*collapse"):
        check_run(config, options, split=events, support=Support(), cases=1)


def test_a_memory_that_is_filled_from_facts_is_refused_for_events() -> None:
    events = make_split("e", [event_case()])
    for memory, fits in (({}, False), ({"memory": 5}, False), ({"memory": 0}, True), ({"memory": "split"}, True)):
        choice = {"name": "bm25", "params": memory}
        config = RunConfig.model_validate({"split": "mini", "editors": [choice], "out": "o"})
        if fits:
            check_methods(config, events)
            continue
        with pytest.raises(UserError, match=r'events; set editors.bm25.params.memory = "split"'):
            check_methods(config, events)


def test_a_method_that_reads_all_edits_is_refused_where_workers_are_not_told_them() -> None:
    events = make_split("e", [event_case()])
    for choice, fits in (
        ({"name": "placebo"}, False),
        ({"name": "bm25", "params": {"memory": "split"}}, False),
        ({"name": "bm25", "params": {"memory": 0}}, True),
        ({"name": "ice"}, True),
    ):
        config = RunConfig.model_validate({"split": "mini", "editors": ["none", choice], "out": "o", "engine": "ray"})
        if fits:
            check_methods(config, events, engine=config.engine.name)
            continue
        with pytest.raises(UserError, match=r"all edits of the split, which workers are not told; use engine = 'fast'"):
            check_methods(config, events, engine=config.engine.name)
        check_methods(config, events)


@pytest.mark.parametrize(
    ("taken", "option", "fix"),
    [
        (("document",), None, 'add support = "documents_from_facts" to the run'),
        (("event",), None, 'add support = "events_from_facts" to the run'),
        (("fact", "document"), "--support ", "name --support shipped"),
        (("document",), "--support ", "name --support documents_from_facts"),
    ],
)
def test_support_of_another_type_is_refused_with_one_that_fits(
    taken: tuple[str, ...], option: str | None, fix: str
) -> None:
    with pytest.raises(
        UserError, match=f"here: 'm' learns from declared cases, and none are declared; {fix}, or a split"
    ):
        check_support("m", taken, Support(), where="here", option=option)
    other = event_case() if "fact" in taken or "document" in taken else make_case("Land01")
    support = Support((other,), "digest", "theirs")
    with pytest.raises(UserError, match=f"those of the support are {support.type}s; {fix}"):
        check_support("m", taken, support, where="here", option=option)


def test_a_sequence_longer_than_the_split_is_refused() -> None:
    choice = RegimeChoice(name="sequential", size=(1, 1000))
    with pytest.raises(UserError, match="is to be 1,000 edits long, and the run has 58 cases.*a larger split"):
        check_sequence(choice, 58)
    check_sequence(choice, 1000)
    check_sequence(RegimeChoice(name="sequential"), 58)  # the usual lengths, as far as there are cases
    check_sequence(RegimeChoice(name="batch", size=100), 58)
