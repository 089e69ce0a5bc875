"""Cases are those of a published file, or it is said in what they differ."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from curation.export.fact_formats import write_cf, write_t
from curation.files.checksums import sha256
from evaluation.reproduction.published import content_of, data_difference, published_data
from schemas.core.errors import DataError, UserError
from tests.support.arithmetic import make_cases

NAMES = ("ScEdit-CF", "ScEdit-T")


@pytest.fixture
def cases(tmp_path: Path):
    split = make_cases(4, 3)
    write_cf(split, tmp_path / "ScEdit-CF.json")
    write_t(split, tmp_path / "ScEdit-T.json")
    return {k: [c for c in split.cases if c.fact.change == k] for k in ("counterfactual", "temporal")}


def test_cases_that_went_through_the_file_are_the_same_in_any_order_and_under_other_keys(cases, tmp_path):
    files = published_data(NAMES, tmp_path)
    assert {n: f.cases for n, f in files.items()} == {"ScEdit-CF": 4, "ScEdit-T": 3}
    assert files["ScEdit-CF"].sha256 == sha256(tmp_path / "ScEdit-CF.json")
    variants = [c.model_copy(update={"key": f"x/{n}"}) for n, c in enumerate(reversed(cases["counterfactual"]))]
    assert data_difference("ScEdit-CF", variants, files) == ""
    assert data_difference("ScEdit-T", cases["temporal"], files) == ""


@pytest.mark.parametrize("field", ["subject", "ground_truth", "target_new", "rephrase_prompts", "neighborhood_prompts"])
def test_one_changed_field_of_one_case_is_seen(cases, tmp_path, field):
    path = tmp_path / "ScEdit-CF.json"
    rows = json.loads(path.read_text())
    if isinstance(rows[1][field], str):
        new = "Quito" if field != "subject" else "The capital"
        rows[1][field] = new
    else:
        rows[1][field] = [t.replace("Step 1:", "Step 1: Now") for t in rows[1][field]]
    path.write_text(json.dumps(rows))
    difference = data_difference("ScEdit-CF", cases["counterfactual"], published_data(NAMES, tmp_path))
    assert (
        difference == "other data than ScEdit-CF.json: 1 case of 4 is not in the file, 1 case of the file is not here"
    )


def test_some_of_the_published_cases_serve_only_where_some_are_asked_for(cases, tmp_path):
    files, some = published_data(NAMES, tmp_path), cases["counterfactual"][:2]
    assert data_difference("ScEdit-CF", some, files, part=True) == ""
    assert "2 cases of the file are not here" in data_difference("ScEdit-CF", some, files)
    twice = [*some, some[0]]
    assert "1 case of 3 is not in the file" in data_difference("ScEdit-CF", twice, files, part=True)


def test_without_the_file_nothing_is_taken_for_the_published_data(cases, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert published_data(NAMES, empty) == {}
    assert "name the folder of ScEdit-CF.json with --data" in data_difference("ScEdit-CF", cases["counterfactual"], {})


def test_hostile_files_are_refused_in_one_sentence(tmp_path):
    with pytest.raises(UserError, match="no such folder of published data"):
        published_data(NAMES, tmp_path / "nowhere")
    for text in ("[]", "{", "not json", '[{"subject": 1}]'):
        (tmp_path / "ScEdit-CF.json").write_text(text)
        with pytest.raises(DataError):
            published_data(["ScEdit-CF"], tmp_path)


def test_content_leaves_keys_out(cases):
    (first, second, *_) = cases["counterfactual"]
    assert content_of(first) == content_of(first.model_copy(update={"key": "other"})) != content_of(second)
