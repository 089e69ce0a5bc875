from __future__ import annotations

import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from curation.export.fact_formats import counterfact_rows, easyedit_rows
from curation.export.formats import EXPORTERS, export, scedit_cf, scedit_t
from curation.shipped import mini_path, mini_split
from curation.splits.split_file import make_split
from schemas.cases import Case
from schemas.core.errors import UserError
from tests.support.facts import peru_fact

FILES = [n for n in EXPORTERS.names() if n not in ("parquet", "datasets")]


def shape(record: dict[str, object]) -> dict[str, type]:
    return {name: type(value) for name, value in record.items()}


@pytest.mark.parametrize(
    ("name", "make"), [("shape_example_cf.json", scedit_cf), ("shape_example_t.json", scedit_t)], ids=["cf", "t"]
)
def test_the_published_shapes(shared: Path, name: str, make: object) -> None:
    example = json.loads((shared / "data" / "scedit" / name).read_text())[0]
    made = make(mini_split().cases)[0]  # type: ignore[operator]
    assert shape(made) == shape(example)
    if "neighborhood" in example:
        assert shape(made["neighborhood"][0]) == shape(example["neighborhood"][0])


def test_the_original_counterfact_shape(shared: Path) -> None:
    example = json.loads((shared / "data" / "counterfact" / "rome_format_example.json").read_text())
    example = example[0] if isinstance(example, list) else example
    made = next(counterfact_rows(mini_split().cases))
    assert shape(made) == {k: v for k, v in shape(example).items() if k != "pararel_idx"}
    assert shape(made["requested_rewrite"]) == shape(example["requested_rewrite"])
    assert made["requested_rewrite"]["target_true"]["str"] == mini_split().cases[0].fact.old.text
    assert made["neighborhood_prompts"] == [n.fact.fact_prompt for n in mini_split().cases[0].neighbours]


def test_knowedits_lists(shared: Path) -> None:
    example = json.loads((shared / "data" / "knowedit" / "readme_examples.json").read_text())["Wiki counterfact"]
    made = next(easyedit_rows(mini_split().cases))
    assert example.keys() <= made.keys()
    for part in ("portability", "locality"):
        theirs, ours = (next(iter(record[part].values()))[0] for record in (example, made))
        assert shape(ours) == shape(theirs)
    case = mini_split().cases[0]
    assert case.fact.new is not None
    scripts = made["portability"]["Script"]
    assert [s["prompt"] for s in scripts] == [p.text for p in case.prompts]
    assert {s["ground_truth"] for s in scripts} == {case.fact.new.text}
    assert {s["ground_truth"] for s in made["locality"]["Script_Neighbour"]} == {case.fact.old.text}


def test_counts_and_content() -> None:
    cases = mini_split().cases
    cf, t = scedit_cf(cases), scedit_t(cases)
    assert len(cf) + len(t) == len(cases)
    first = next(c for c in cases if c.fact.change == "counterfactual")
    assert cf[0]["rephrase_prompts"] == [p.text for p in first.prompts]
    assert cf[0]["interrupt_step"] == [p.step for p in first.prompts]
    for row in cf:
        assert row["ground_truth"] not in " ".join(row["rephrase_prompts"])
    for row in t:
        assert all(n["object"] != row["old_update"] for n in row["neighborhood"])


@pytest.mark.parametrize("name", [("ScEdit-CF.json", "scedit-cf"), ("ScEdit-T.json", "scedit-t")])
def test_the_shipped_shapes_are_those_of_the_split(tmp_path: Path, name: tuple[str, str]) -> None:
    export(mini_split(), tmp_path / "x.json", name[1])
    assert (tmp_path / "x.json").read_text() == (mini_path().parent / name[0]).read_text()


def test_a_separator_that_is_no_space_stays_with_the_prompt() -> None:
    """Others' evaluators add one space and the target; ours would stand directly behind the bracket."""
    for case in (mini_split().cases[0], mini_split().cases[-1]):
        prompt = case.prompts[0]
        opened = prompt.model_copy(update={"separator": " (", "offset": len(prompt.text) + 2})
        changed = case.model_copy(update={"prompts": (opened,)})
        record = next(easyedit_rows([changed]))["portability"]["Script"]
        assert [s["prompt"] for s in record] == [prompt.text + " ("]
        told = [p for r in scedit_cf([changed]) for p in r["rephrase_prompts"]]
        told += [p for r in scedit_t([changed]) for p in r["question"]]
        assert told == [prompt.text + " ("]


def test_case_ids_of_counterfact_stay_and_others_get_free_numbers() -> None:
    keys = ["counterfact/1", "counterfact/007", "mine/a", "mine/b", "counterfact/0"]
    rows = counterfact_rows([Case(key=f"case/{k}", fact=peru_fact(k)) for k in keys])
    assert [row["case_id"] for row in rows] == [1, 2, 3, 4, 0]


def test_wrong_formats(tmp_path: Path) -> None:
    only_t = make_split("t", [c for c in mini_split().cases if c.fact.change == "temporal"])
    for name in ("scedit-cf", "counterfact"):
        with pytest.raises(UserError, match=f"no case that {name} can hold"):
            export(only_t, tmp_path / "x.json", name)
    assert not list(tmp_path.iterdir())
    with pytest.raises(UserError, match="unknown exporter 'scedit'.*allowed: split, scedit-cf"):
        export(only_t, tmp_path / "x.json", "scedit")


@pytest.mark.parametrize("name", EXPORTERS.names())
def test_a_place_that_is_no_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written: (a file stands|File exists|Not a dir)") as caught:
        export(mini_split(), tmp_path / "file" / "x", name)
    assert "\n" not in str(caught.value)


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    """A folder into which this process may not write; root becomes nobody for it."""
    export(mini_split(), tmp_path / "first", "datasets")  # loads what nobody may not be able to load
    tmp_path.chmod(0o500)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield tmp_path
    finally:
        if root:
            os.seteuid(0)
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("name", EXPORTERS.names())
def test_a_closed_folder(closed: Path, name: str) -> None:
    with pytest.raises(UserError, match="cannot be written: Permission denied"):
        export(mini_split(), closed / "x", name)


@pytest.fixture
def small_files() -> Iterator[None]:
    """Files end at 4,096 bytes, as on a disk that is nearly full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("name", EXPORTERS.names())
@pytest.mark.usefixtures("small_files")
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, name: str) -> None:
    target = tmp_path / "x"
    if name in FILES:
        target.write_text("earlier")
    with pytest.raises(UserError, match="cannot be written") as caught:
        export(mini_split(), target, name)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{target}: ") and "File too large" in str(caught.value)
    assert "partial" not in str(caught.value)
    assert [p.name for p in tmp_path.iterdir()] == (["x"] if name in FILES else [])
    assert name not in FILES or target.read_text() == "earlier"


@pytest.mark.parametrize("name", ["parquet", "datasets"])
def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="something here already"):
        export(mini_split(), tmp_path, name)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("name", EXPORTERS.names())
def test_what_a_killed_run_left_is_no_hindrance(tmp_path: Path, name: str) -> None:
    if name in FILES:
        (tmp_path / "x.partial").write_text("half")
    else:
        left = tmp_path / ".x.scedit-partial"
        left.mkdir()
        (left / "half").write_text("half")
    assert export(mini_split(), tmp_path / "x", name) > 0
    assert [p.name for p in tmp_path.iterdir()] == ["x"]
