"""Specificity probes in whole runs: once a state of the model, resumed, paired with the answers before."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from curation.files.journal import Journal
from curation.splits.split_file import make_split
from evaluation.analysis.comparison import compare
from evaluation.metrics.generation import metrics_of
from evaluation.runs.frame import score_run
from evaluation.runs.results import load_run
from schemas.core.errors import UserError
from tests.support.arithmetic import ArithmeticEdit, ArithmeticEditor, ArithmeticLM, make_config
from tests.support.documents.records import document_case, make_document, make_probe
from tests.support.documents.shared import make_shared, write_set
from tests.support.evaluation.runner_of import runner_of

SHARED = {p.id for p in make_shared().probes}
BATCH: dict[str, Any] = {"name": "batch", "size": 2}
SEQUENCE: dict[str, Any] = {"name": "sequential", "size": [2, 4]}


class DocumentEditor(ArithmeticEditor):
    """Puts a word before every prompt; fails on a document."""

    def edit(self, requests):
        if any(r.key in self.params.fail for r in requests):
            raise RuntimeError("no")
        return ArithmeticEdit({}, prefix="" if self.name == "none" else "So: ")


def split(count: int = 4):
    cases = []
    for n in range(count):
        key = f"d/{n}"
        probe = make_probe(f"Town {n} lies in ___.", "Peru", document=key)
        cases.append(
            document_case(f"case/{n}", document=make_document(key, f"Town {n} lies in Peru."), probes=(probe,))
        )
    return make_split("towns", cases)


def go(out: Path, *, lm: ArithmeticLM | None = None, retry: bool = False, **more: Any):
    model = lm or ArithmeticLM()
    table = {"file": str(write_set(out.parent / "sets")), "number": "all"} | more.pop("specificity", {})
    config = make_config(out, **{"metrics": ["em", "em_spec", "ppl_spec"], "specificity": table, **more})
    runner_of(config, split(), scorer=model, make=DocumentEditor, retry_failed=retry).run()
    return model


def asked(lm: ArithmeticLM) -> Counter[str]:
    return Counter(probe for call in lm.calls for probe in call if probe in SHARED)


@pytest.mark.parametrize(("regime", "states"), [("single", 4), (BATCH, 2), (SEQUENCE, 2)])
def test_asked_once_a_state_and_once_of_the_unedited_model(tmp_path: Path, regime: Any, states: int) -> None:
    lm = go(tmp_path / "run", regime=regime)
    assert asked(lm) == dict.fromkeys(SHARED, states + 1)
    assert go(tmp_path / "run", regime=regime).calls == [], "all of it is kept"
    journals = {path.parent.name.partition("-")[0]: path for path in (tmp_path / "run").glob("*/journal.jsonl")}
    for label, number in (("push", states), ("none", 1)):
        with Journal(journals[label]) as journal:
            lines = [SHARED & {a["probe"] for a in result["answers"]} for _, result in journal.items()]
        assert sum(ids == SHARED for ids in lines) == number and all(ids in (SHARED, set()) for ids in lines)


def test_drawn_questions_differ_by_case_and_the_unedited_model_is_asked_what_any_case_draws(tmp_path: Path) -> None:
    lm = go(tmp_path / "run", specificity={"number": 2})
    counts = [sum(p in SHARED for p in call) for call in lm.calls]
    assert counts[1:4] == [0, 0, 0] and counts[4:] == [2, 2, 2, 2] and counts[0] == len(asked(lm)) > 2


@pytest.mark.parametrize("regime", ["single", BATCH, SEQUENCE])
def test_values_are_pooled_over_states_and_paired_with_before(tmp_path: Path, regime: Any) -> None:
    go(tmp_path / "run", regime=regime)
    run = load_run(tmp_path / "run")
    metrics = metrics_of(run.about)
    none, push = compare(run, score_run(run, metrics, "mean"), metrics)[0].rows
    states = {"single": 4, "batch": 2}.get(regime if isinstance(regime, str) else regime["name"], 1)
    assert (push.summaries["em_spec"].items, none.summaries["em_spec"].items) == (6 * states, 24)
    assert push.gain["em_spec"].n == states
    assert push.gain["em_spec"].mean == pytest.approx(push.summaries["em_spec"].mean - none.summaries["em_spec"].mean)


def test_a_metric_added_later_asks_only_what_is_shared(tmp_path: Path) -> None:
    go(tmp_path / "run", metrics=["em"])
    lm = go(tmp_path / "run")
    assert asked(lm) == dict.fromkeys(SHARED, 5) and {p for call in lm.calls for p in call} == SHARED
    full_result = tmp_path / "whole"
    go(full_result)
    runs = [load_run(path) for path in (tmp_path / "run", full_result)]
    assert [{k: set(r.answers) for k, r in e.results.items()} for e in runs[0].editors] == [
        {k: set(r.answers) for k, r in e.results.items()} for e in runs[1].editors
    ]


def test_an_edit_that_fails_has_no_shared_answers_until_it_is_tried_again(tmp_path: Path) -> None:
    editors = [{"name": "push", "params": {"fail": ["d/1"]}}]
    assert asked(go(tmp_path / "run", editors=editors)) == dict.fromkeys(SHARED, 4)
    assert asked(go(tmp_path / "run", editors=editors)) == {}


def test_broken_off_between_units_asks_nothing_twice(tmp_path: Path) -> None:
    class Broken(ArithmeticLM):
        def score(self, probes, **more):
            if len(self.calls) == 6:
                raise KeyboardInterrupt
            return super().score(probes, **more)

    first = Broken()
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path / "run", lm=first)
    second = go(tmp_path / "run")
    assert asked(first) + asked(second) == dict.fromkeys(SHARED, 5)


def test_a_set_of_another_model_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    lm = ArithmeticLM(name="gpt2")
    with pytest.raises(UserError, match="holds what 'arithmetic' answers"):
        go(tmp_path / "run", lm=lm)
    assert lm.calls == [] and not (tmp_path / "run").exists()
