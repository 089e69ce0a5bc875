"""Presets, trained files, and the digest of a class: what a method is before it edits."""

from __future__ import annotations

import logging
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from curation.files.artifact_cache import Cache
from evaluation.editors import EDITORS
from evaluation.editors.checkpoints import CheckpointEditor
from evaluation.editors.hypernetwork.mend import Mend
from evaluation.editors.own_code import code_digest
from evaluation.editors.presets import check_options, make_editor, preset
from evaluation.editors.routed.serac import Serac
from evaluation.models.language_model import LM
from schemas.core.config import validate
from schemas.core.errors import UserError
from tests.support.editors import edit_requests
from tests.support.facts import peru_fact

TUNED = {
    "embedded": ("rome", "embedded", {"layer": 5, "steps": 25}),
    "by a hub name": ("rome", "openai-community/gpt2-xl", {"layer": 17, "clamp": 4.0}),
    "by a path": ("ft", "/models/Llama-3-8B/", {"layer": 21}),
    "constrained": ("ft_l", "gpt2-xl", {"layer": 0, "eps": 5e-4}),
    "without options": ("none", "gpt2-xl", {}),
}


@pytest.mark.parametrize("name", TUNED)
def test_tuned(name: str) -> None:
    method, model, want = TUNED[name]
    params = preset(method, model)
    assert {key: params[key] for key in want} == want
    assert bool(params) is bool(want)


def test_every_preset_has_a_source_and_fits_its_method() -> None:
    table = tomllib.loads((files("evaluation.editors") / "presets.toml").read_text(encoding="utf-8"))
    for entry in table["preset"]:
        assert entry["source"] and entry["match"]
        validate(EDITORS.get(entry["method"]).Params, entry["params"], where=str(entry["match"]))
    for method, entry in table["scaled"].items():
        assert entry["source"]
        where = {"layers": list(range(entry["span"]))} if "span" in entry else {"layer": 0}
        validate(EDITORS.get(method).Params, {**where, **entry["params"]}, where=method)


def test_scaled_by_depth_and_said_so(tiny: LM, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert preset("ft", tiny)["layer"] == 2  # 0.7 of 3 layers
    assert "nobody has tuned 'ft'" in caplog.text and "layer 2 of 3" in caplog.text
    assert preset("none", tiny) == {}
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        assert preset("memit", tiny)["layers"] == [0, 1]  # up to 0.27 of 3 layers, at most five of them
    assert "layers 0-1 of 3" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        preset("ft", tiny, {"layer": 1, "lr": 0.1})
    assert "options that you do not set are scaled defaults" in caplog.text and "of 3" not in caplog.text
    with pytest.raises(UserError, match="no preset of 'ft'"):
        preset("ft", "some-other-model")


WRONG = {
    "method": ("rmoe", {}, "unknown editor 'rmoe'.*did you mean 'rome'"),
    "option": ("rome", {"layr": 3}, "layr: unknown field, did you mean 'layer'"),
    "option of a method without any": ("none", {"layer": 1}, "unknown field"),
    "value": ("ft_l", {"eps": -1}, "eps: Input should be greater than 0"),
    "layer": ("ft", {"layer": 7}, "no layer 7; allowed: 0 to 2"),
    "length of a template": ("rome", {"template_lengths": [[-5, 10]]}, "template_lengths.0.0: Input should be greater"),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes(name: str, tiny: LM, cache: Cache) -> None:
    method, options, message = WRONG[name]
    with pytest.raises(UserError, match=message):
        make_editor(method, tiny, cache, options)


@pytest.mark.parametrize("method", ["ft", "rome", "memit"])
def test_options_scaled_before_a_model_is_loaded_are_those_it_gets(method: str, tiny: LM) -> None:
    params = check_options(method, "nobody-tuned-it", {}, where="x", depth=tiny.layout.depth)
    assert params == make_editor(method, tiny).params


def test_a_deep_model_nobody_tuned_and_whose_depth_is_unknown() -> None:
    assert check_options("rome", "nobody-tuned-it", {"layer": 99}, where="x", depth=None).layer == 99
    with pytest.raises(UserError, match="x: the model has no layer 99; allowed: 0 to 98"):
        check_options("rome", "nobody-tuned-it", {"layer": 99}, where="x", depth=99)
    with pytest.raises(UserError, match="x: the model has no layer 7; allowed: 0 to 2"):
        check_options("memit", "nobody-tuned-it", {"layers": [0, 2, 7, 9]}, where="x", depth=3)


corpus = edit_requests.corpus


@pytest.mark.parametrize("method", ["prompt", "ft", "ft_l", "rome"])
def test_nothing_to_edit(method: str, tiny: LM, cache: Cache, corpus: str) -> None:
    editor = make_editor(method, tiny, cache, {"corpus": corpus} if method == "rome" else {})
    with pytest.raises(UserError, match="no edit to make"):
        editor.edit([])
    with pytest.raises(UserError, match="f/fixed: the fact has no new object"):
        editor.edit([peru_fact("f/fixed", new=None, change="none")])


@pytest.mark.parametrize("kind", [Mend, Serac])
def test_a_name_means_a_file_or_one_of_the_package(kind: type[CheckpointEditor]) -> None:
    with pytest.raises(UserError, match="no trained file 'shipped:x.safetensors' of this method") as error:
        kind.checkpoint_path("shipped:x.safetensors")
    name = str(error.value.allowed).split(", ")[0]
    shipped = kind.checkpoint_path(name)
    assert name == f"shipped:{shipped.name}" and shipped.is_file() and shipped.parent.joinpath("__init__.py").is_file()
    assert kind.__module__.startswith(kind.shipped_in + ".")
    assert kind.checkpoint_path("~/x") == Path.home() / "x"


CELL = """
import functools
PREFIX = "a"
TABLE = (1, (2, 3))
memo = {}

def helper(text, loud=False, *, more=0):
    memo[str(text)] = 1
    return [PREFIX + one for one in text]

class Base:
    def edit(self, requests):
        return helper(requests)

class Mine(Base):
    rate = 0.5

    @functools.cache
    def size(self):
        return len(TABLE) if "y" in {"y", "z"} else 2

    @property
    def notes(self):
        return super().notes
"""


def made(cell: str) -> type:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(cell, names)
    return names["Mine"]


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("class Base", "# a comment\n\nclass Base", True),
        ("import functools", "import functools, os\nother = 3", True),
        ("rate = 0.5", "rate = 0.4", False),
        ("super().notes", "super().other", False),
        ("else 2", "else 3", False),
        ('"y" in {"y", "z"}', '"y" in {"y", "w"}', False),
        ("return helper(requests)", "return helper(requests[:1])", False),
        ("loud=False", "loud=True", False),
        ("PREFIX + one", "one + PREFIX", False),
        ('PREFIX = "a"', 'PREFIX = "b"', False),
        ("(2, 3)", "(2, 4)", False),
        ("more=0", "more=1", False),
        ("memo = {}", "memo = {1: 2}", True),
    ],
)
def test_a_change_of_the_code_changes_the_digest(old: str, new: str, same: bool) -> None:
    assert old in CELL
    assert (code_digest(made(CELL)) == code_digest(made(CELL.replace(old, new)))) == same


def test_what_a_class_takes_from_the_function_around_it_counts() -> None:
    def make(prefix: str) -> type:
        class Mine:
            def edit(self) -> str:
                return prefix

        return Mine

    assert code_digest(make("a")) == code_digest(make("a")) != code_digest(make("b"))
