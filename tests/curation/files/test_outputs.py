"""A command replaces its own earlier output, and nothing else unless it is told to."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from curation.files.atomic import real, write_text
from curation.files.outputs import KEPT, outputs_of
from schemas.core.errors import UserError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def write(path: Path, text: str = "new", *, command: str = "split export", force: bool = False) -> None:
    with outputs_of(command, [path], force=force):
        write_text(path, text)


REFUSED = "did not write, or that was changed since"


def test_its_own_output_and_no_other(tmp_path: Path) -> None:
    place = tmp_path / "out"
    write(place, "1")
    write(place, "2")
    assert place.read_text() == "2"
    with pytest.raises(UserError, match=f"'scedit store dump' {REFUSED}.*--force"):
        write(place, command="store dump")
    place.write_text("2, with a remark by hand")
    with pytest.raises(UserError, match=REFUSED):
        write(place)
    assert place.read_text() == "2, with a remark by hand"
    write(place, "3", force=True)
    write(place, "4")
    assert place.read_text() == "4"


def test_what_stood_there_before(tmp_path: Path) -> None:
    (tmp_path / "thesis").write_text("mine")
    with pytest.raises(UserError, match=REFUSED):
        write(tmp_path / "thesis")
    assert (tmp_path / "thesis").read_text() == "mine"


def test_nothing_is_known_where_no_list_can_be_kept(tmp_path: Path, cache: Path) -> None:
    cache.write_text("no folder")
    write(tmp_path / "a")
    with pytest.raises(UserError, match=REFUSED):
        write(tmp_path / "a")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1}', "\xff"])
def test_a_spoilt_list_is_no_list(tmp_path: Path, cache: Path, text: str) -> None:
    write(tmp_path / "a")
    (cache / "outputs.json").write_text(text, encoding="latin-1")
    with pytest.raises(UserError, match=REFUSED):
        write(tmp_path / "a")
    write(tmp_path / "b")
    write(tmp_path / "b")


def test_inputs_stay_even_when_forced(tmp_path: Path) -> None:
    source = tmp_path / "facts"
    source.write_text("old")
    os.link(source, tmp_path / "link")
    for place in (source, tmp_path / "link"):
        guard = outputs_of("data convert", [place], inputs=[source], force=True)
        with pytest.raises(UserError, match="an input of this command"), guard:
            raise AssertionError("refused before it begins")
    write(source, force=True)
    assert source.read_text() == "new"


def test_a_folder_for_files(tmp_path: Path) -> None:
    out = tmp_path / "parts"
    for text in ("1", "2"):
        with outputs_of("split partition", (), [out]):
            write_text(out / "a", text)
    (out / "b").write_text("mine")
    with pytest.raises(UserError, match=REFUSED), outputs_of("split partition", (), [out]):
        write_text(out / "b", "new")
    with outputs_of("split partition", (), [out]):
        write_text(tmp_path / "elsewhere", "a cache, say")
        write_text(tmp_path / "elsewhere", "again")


def test_a_companion_belongs_to_the_output(tmp_path: Path) -> None:
    (tmp_path / "m.manifest.json").write_text("mine")
    with pytest.raises(UserError, match=REFUSED), outputs_of("model covariance pack", [tmp_path / "m.safetensors"]):
        write_text(tmp_path / "m.manifest.json", "new")


def test_twice_in_one_command(tmp_path: Path) -> None:
    with outputs_of("x", [tmp_path / "a"]):
        write_text(tmp_path / "a", "1")
        write_text(tmp_path / "a", "2")
    assert (tmp_path / "a").read_text() == "2"


def test_the_outermost_command_decides(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("mine")
    with outputs_of("demo", (), [tmp_path], force=True), outputs_of("split freeze", [tmp_path / "a"]):
        write_text(tmp_path / "a", "new")
    with pytest.raises(UserError, match="'scedit split freeze'"):
        write(tmp_path / "a", command="split freeze")


def test_the_list_drops_the_oldest(tmp_path: Path, cache: Path) -> None:
    cache.mkdir()
    (cache / "outputs.json").write_text(json.dumps({f"/{n}": ["x", 1, 1] for n in range(KEPT)}))
    write(tmp_path / "a")
    known = json.loads((cache / "outputs.json").read_text())
    assert len(known) == KEPT and "/0" not in known and known[str(tmp_path / "a")][0] == "split export"


def test_a_guard_ends_with_its_command(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("mine")
    with pytest.raises(UserError):
        write(tmp_path / "a")
    write_text(tmp_path / "a", "new")


def test_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert real(Path("a/../b")) == tmp_path.resolve() / "b"
    (tmp_path / "round").symlink_to(tmp_path / "round")
    for path, message in (("a\0b", "no path to write to"), ("round", "leads in a circle")):
        with pytest.raises(UserError, match=message):
            real(Path(path))
