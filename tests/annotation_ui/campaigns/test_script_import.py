"""Generated scripts from a file: all of them, or none and a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation_ui.tasks.generated_scripts import import_scripts, read_scripts
from curation.store.store import Store
from schemas.core.errors import DataError, UserError
from schemas.generated_scripts import GeneratedScript
from tests.annotation_ui.conftest import fill, scripts


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A store with facts and questions of six cases, and their twelve scripts."""
    path = tmp_path / "bare.duckdb"
    with Store.open(path, create=True) as store:
        fill(store)
    return path


def written(path: Path, rows: list[GeneratedScript]) -> Path:
    path.write_text("".join(r.model_dump_json() + "\n" for r in rows), encoding="utf-8")
    return path


def other(script: GeneratedScript, **change: object) -> GeneratedScript:
    return script.model_copy(update={"key": f"{script.key}/other", "editor": "ft", **change})


def count(path: Path) -> int:
    with Store.open(path) as store:
        return sum(1 for _ in store.all(GeneratedScript))


def test_new_ones_are_kept_with_where_they_came_from(bare: Path, tmp_path: Path) -> None:
    known_values = scripts(6)
    script = other(known_values[0])
    path = written(tmp_path / "made.jsonl", [known_values[0], script])
    assert import_scripts(path, bare) == (2, 1)
    assert import_scripts(path, bare) == (2, 0)
    with Store.open(bare) as store:
        assert store.get(script.key) == script
        line = store.lineage(script.id)[0]
        assert (line.stage, line.detail) == ("import", {"from": "made.jsonl"})


def test_text_of_models_comes_through_as_it_is(bare: Path, tmp_path: Path) -> None:
    odd = other(scripts(1)[0], text="\u2028 \x00 <b> \U0001f600", steps=())
    import_scripts(written(tmp_path / "f", [odd]), bare)
    with Store.open(bare) as store:
        result = store.get(odd.key)
        assert isinstance(result, GeneratedScript) and result.text == odd.text


@pytest.mark.parametrize("change", [{"fact": "mini/none"}, {"question": "mini/cf-001/q99"}])
def test_a_script_of_an_unknown_fact_or_question_keeps_all_out(
    bare: Path, tmp_path: Path, change: dict[str, object]
) -> None:
    first = scripts(6)[0]
    path = written(tmp_path / "f", [other(first), other(first, key="generated/odd", **change)])
    with pytest.raises(UserError):
        import_scripts(path, bare)
    assert count(bare) == 12


@pytest.mark.parametrize(("field", "key"), [("fact", "mini/cf-001/q1"), ("question", "mini/cf-001")])
def test_a_key_of_something_else_is_refused_here_and_not_when_a_campaign_is_made(
    bare: Path, tmp_path: Path, field: str, key: str
) -> None:
    odd = other(scripts(6)[0], **{field: key})
    with pytest.raises(DataError, match=f"'{key}' is no {field}") as error:
        import_scripts(written(tmp_path / "f", [odd]), bare)
    assert odd.key in str(error.value)
    assert count(bare) == 12


def test_a_faulty_line_is_named_and_nothing_is_kept(bare: Path, tmp_path: Path) -> None:
    path = written(tmp_path / "f", [other(scripts(6)[0])])
    with path.open("a") as file:
        file.write('{"key": "x"}\n')
    with pytest.raises(DataError, match="line 2"):
        import_scripts(path, bare)
    assert count(bare) == 12


def test_a_file_or_store_that_is_not_there_is_told(bare: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        read_scripts(tmp_path / "none")
    path = written(tmp_path / "f", scripts(1))
    with pytest.raises(UserError):
        import_scripts(path, tmp_path / "none.duckdb")
    assert not (tmp_path / "none.duckdb").exists()
