"""A specificity set is opened for its own model only; every refusal is one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from curation.case_sources.opening import open_specificity
from curation.loaders.formats.native import write_records
from curation.splits.split_file import make_split
from evaluation.runs.config import RunConfig
from evaluation.runs.plan import plan_of
from evaluation.runs.refusals import refuse_other_model
from schemas.core.errors import UserError
from tests.support.arithmetic import make_case
from tests.support.documents.shared import make_set, write_set


def named(metrics: list[str], **more: object) -> RunConfig:
    return RunConfig.model_validate({"split": "mini", "editors": ["none"], "metrics": metrics, "out": "o", **more})


def asked(config: RunConfig, *, model: str):
    questions = plan_of(config, make_split("s", [make_case("Land01")])).questions
    if questions is not None:
        refuse_other_model(questions.set, model=model)
    return questions


def opened(path: Path, *, model: str = "org/Arithmetic", number: object = 4):
    return asked(named(["em_spec"], specificity={"file": path, "number": number}), model=model)


def test_a_set_of_the_models_name_is_opened_whatever_stands_before_it(tmp_path: Path) -> None:
    shared = opened(write_set(tmp_path))
    assert shared is not None and (len(shared.probes), shared.number) == (6, 4)
    assert opened(write_set(tmp_path), number="all").number is None  # type: ignore[union-attr]


def test_a_record_as_json_is_the_same_set(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    write_records([make_set(revision="abc")], path)
    assert open_specificity(path) == make_set(revision="abc")
    assert len(open_specificity(write_set(tmp_path)).questions) == 6


def test_no_set_and_no_metric_that_needs_one() -> None:
    assert asked(named(["em"]), model="m") is None


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="'em_spec' asks what the unedited model answers, and no set"):
        asked(named(["em", "em_spec"]), model="m")
    with pytest.raises(UserError, match="there is no such file"):
        opened(tmp_path / "none.json")
    with pytest.raises(UserError, match="holds what 'arithmetic' answers, and this run edits 'gpt2'"):
        opened(write_set(tmp_path), model="gpt2")
    with pytest.raises(UserError, match="7 questions are to be asked after every edit, and the set .* has 6"):
        opened(write_set(tmp_path), number=7)
    other = tmp_path / "documents.json"
    other.write_text(json.dumps([{"id": "d", "text": "It is so.", "probes": []}]), encoding="utf-8")
    with pytest.raises(UserError):
        opened(other)


def test_weights_decide_where_the_set_knows_them() -> None:
    specificity_set = make_set(revision="abc")
    refuse_other_model(specificity_set, model="a folder of any name", revision="abc")
    refuse_other_model(specificity_set, model="before it is loaded")
    with pytest.raises(UserError, match=r"what 'arithmetic' \(abc\) answers, and this run edits 'arithmetic' \(xyz\)"):
        refuse_other_model(specificity_set, model="arithmetic", revision="xyz")
