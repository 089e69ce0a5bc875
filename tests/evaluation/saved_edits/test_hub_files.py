"""What of a saved edit goes to a hub: its own files, as they were saved, and no path of this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluation.saved_edits.hub_files import saved_edit_files
from evaluation.saved_edits.save import save_edit
from schemas.core.errors import UserError
from tests.support.editors.saved_edits import cases, editor
from tests.support.tiny import make


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    lm = make("llama")
    save_edit(editor("ft", lm, tmp_path / "m"), cases(), tmp_path / "out", saved_as="deltas")
    return tmp_path / "out"


def test_all_files_of_an_edit(saved: Path) -> None:
    files = saved_edit_files(saved)
    assert {f.name for f in files} == {p.name for p in saved.iterdir()} >= {"README.md", "edit.json"}
    assert all(f.size == (saved / f.name).stat().st_size for f in files)


@pytest.mark.parametrize("name", [".env", "modeling.py", "more.safetensors", "old.bin", "sub/x.json"])
def test_what_was_not_saved_with_it_is_refused(saved: Path, name: str) -> None:
    (saved / name).parent.mkdir(exist_ok=True)
    (saved / name).write_text("mine")
    with pytest.raises(UserError, match="also holds what was not saved with the edit") as error:
        saved_edit_files(saved)
    assert "nothing was sent" in str(error.value)


def test_links_changed_weights_no_card_and_no_edit_are_refused(saved: Path, tmp_path: Path) -> None:
    weights = next(saved.glob("*.safetensors"))
    data = weights.read_bytes()
    weights.write_bytes(data[:-1] + b"x")
    with pytest.raises(UserError, match="is not the file that was saved"):
        saved_edit_files(saved)
    weights.unlink()
    with pytest.raises(UserError, match="is not the file that was saved"):
        saved_edit_files(saved)
    (tmp_path / "w").write_bytes(data)
    weights.symlink_to(tmp_path / "w")
    with pytest.raises(UserError, match="also holds what was not saved"):
        saved_edit_files(saved)
    weights.unlink()
    weights.write_bytes(data)
    (saved / "README.md").unlink()
    with pytest.raises(UserError, match="has no card"):
        saved_edit_files(saved)
    with pytest.raises(UserError, match="is no saved edit"):
        saved_edit_files(tmp_path)


@pytest.mark.parametrize("model", ["/home/me/llama", "./llama", "~/llama", "C:\\\\models\\\\llama"])
def test_a_base_model_in_a_folder_is_refused(saved: Path, model: str) -> None:
    rewrite(saved, model=model)
    with pytest.raises(UserError, match="base model is a folder of this machine"):
        saved_edit_files(saved)


@pytest.mark.parametrize("path", ["/home/me/corpus.txt", "/tmp/x/y", "D:\\\\texts\\\\a.txt"])
def test_a_path_of_this_machine_is_refused(saved: Path, path: str) -> None:
    rewrite(saved, params={"corpus": path})
    with pytest.raises(UserError, match="'edit.json' names a path of this machine"):
        saved_edit_files(saved)


def test_a_path_in_the_card_is_refused_and_an_address_is_none(saved: Path) -> None:
    card = saved / "README.md"
    text = card.read_text(encoding="utf-8")
    card.write_text(text + "\nSee https://example.org/data/x and mlp/home/y.\n", encoding="utf-8")
    assert saved_edit_files(saved)
    card.write_text(text + "\n`/root/secret`\n", encoding="utf-8")
    with pytest.raises(UserError, match="'README.md' names a path of this machine: /root/secret"):
        saved_edit_files(saved)


def rewrite(folder: Path, **changes: Any) -> None:
    about = json.loads((folder / "edit.json").read_text(encoding="utf-8"))
    (folder / "edit.json").write_text(json.dumps({**about, **changes}), encoding="utf-8")
