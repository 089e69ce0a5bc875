from __future__ import annotations

import json
from pathlib import Path

import pytest

from curation.export import EXPORTERS, export, scedit_cf, scedit_t
from curation.shipped import mini_path, mini_split
from curation.splits import make_split
from schemas.errors import UserError


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


def test_refusals(tmp_path: Path) -> None:
    only_t = make_split("t", [c for c in mini_split().cases if c.fact.change == "temporal"])
    with pytest.raises(UserError, match="no case that scedit-cf can hold"):
        export(only_t, tmp_path / "x.json", "scedit-cf")
    assert not (tmp_path / "x.json").exists()
    with pytest.raises(UserError, match="unknown exporter 'scedit'.*allowed: split, scedit-cf"):
        export(only_t, tmp_path / "x.json", "scedit")
    (tmp_path / "file").write_text("")
    for name in EXPORTERS.names():
        with pytest.raises(UserError, match="cannot be"):
            export(mini_split(), tmp_path / "file" / "x.json", name)
