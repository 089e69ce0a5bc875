"""Public names at the package roots, and registries of components: lazy, complete, from one package each."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from importlib.metadata import EntryPoint, distributions
from pathlib import Path
from types import SimpleNamespace

import pytest

from schemas.core.errors import UserError
from schemas.core.lazy import lazy_names
from schemas.core.registry import Registry, entry_points, suggest
from tests.support import ROOT

PACKAGES = ("schemas", "curation", "construction", "evaluation", "annotation_ui")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_there_and_on_the_page_and_hides_no_submodule(package: str) -> None:
    table = (ROOT / "docs" / "api.md").read_text(encoding="utf-8").partition("## All public names")[2]
    listing: dict[str, set[str]] = {}
    current = ""
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and "`" in cells[2]:
            current = cells[0].strip("`") or current
            listing.setdefault(current, set()).update(re.findall(r"`(\w+)`", cells[2]))
    module = importlib.import_module(package)
    names = set(module.__all__)
    assert names == listing[package] <= set(dir(module))
    assert all(getattr(module, name) is not None for name in names)
    assert not names & {path.stem if path.suffix == ".py" else path.name for path in (ROOT / package).iterdir()}


@pytest.mark.parametrize("package", PACKAGES)
def test_the_stub_names_what_the_table_names(package: str) -> None:
    """Type checkers read ``__init__.pyi``: the same names, from the same modules."""
    stub = ast.parse((ROOT / package / "__init__.pyi").read_text(encoding="utf-8"))
    targets = {
        alias.asname: f"{node.module}:{alias.name}"
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    module = importlib.import_module(package)
    assert targets == module._PUBLIC and None not in targets
    (values,) = [node.value for node in stub.body if isinstance(node, ast.Assign)]
    assert set(ast.literal_eval(values)) == set(targets)


@pytest.mark.slow
def test_a_type_checker_outside_sees_the_types_of_public_names(tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(
        "from schemas import Fact, find_mentions\nnumber: int = Fact\nreveal_type(find_mentions)\n"
    )
    command = [sys.executable, "-m", "mypy", str(tmp_path / "user.py")]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert 'type "type[Fact]", variable has type "int"' in process.stdout, process.stdout + process.stderr
    assert "schemas.facts.Entity" in process.stdout.partition("Revealed type is")[2]


def test_importing_the_packages_imports_nothing_heavy() -> None:
    code = f"import sys, {', '.join(PACKAGES)}; print([m for m in ('torch', 'duckdb', 'pydantic') if m in sys.modules])"
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    evaluation = importlib.import_module("evaluation")
    with pytest.raises(AttributeError, match="no attribute 'make_editr'; did you mean 'make_editor'"):
        _ = evaluation.make_editr
    assert not hasattr(evaluation, "__path_of_nothing__")
    get, _ = lazy_names("schemas", {"Gone": "schemas.facts:Gone"})
    with pytest.raises(AttributeError, match="Gone"):
        get("Gone")


SLUG, SEED = "schemas.core.ids:slug", "schemas.core.ids:seed"


def installed(monkeypatch: pytest.MonkeyPatch, *declarations: tuple[str, str, str]) -> None:
    """As if packages were installed that declare things: (package, name, value)."""
    points = []
    for package, name, value in declarations:
        point = EntryPoint(name, value, "scedit.thing")
        vars(point)["dist"] = SimpleNamespace(name=package)
        points.append(point)
    monkeypatch.setattr("schemas.core.registry.entry_points", lambda group: points if group == "scedit.thing" else [])


def test_names_load_nothing_and_components_load_late(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, ("ours", "ids", SLUG), ("ours", "gone", "no.such.module:x"))
    table = Registry("thing", ("ids", "gone"))
    assert table.names() == ["ids", "gone"]
    assert table.get("ids")("A b") == "a-b"
    with pytest.raises(UserError, match="unknown thing 'idz'; allowed: ids, gone; did you mean 'ids'"):
        table.get("idz")
    with pytest.raises(UserError, match="^unknown thing 'zzzz'; allowed: ids, gone$"):
        table.get("zzzz")


def test_ours_come_in_our_order_and_others_after_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entry points come back in no promised order; checks run in the order of names."""
    rows = [("ours", name, SLUG) for name in ("b", "d", "a")]
    for order in ([("other", "c", SEED), *rows], [*reversed(rows), ("other", "c", SEED)]):
        installed(monkeypatch, *order, ("another", "aa", SEED))
        assert Registry("thing", ("d", "a", "b")).names() == ["d", "a", "b", "aa", "c"]
    assert Registry("thing").get("c")("a") == Registry("thing").get("aa")("a")


def test_two_packages_with_one_name_are_refused_and_both_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = rf"two packages register the thing 'ids': ours \({SLUG}\) and other \({SEED}\); uninstall one of them"
    installed(monkeypatch, ("ours", "ids", SLUG), ("other", "ids", SEED))
    with pytest.raises(UserError, match=expected):
        Registry("thing").names()
    installed(monkeypatch, ("ours", "ids", SLUG), ("copy", "ids", SLUG))
    with pytest.raises(UserError, match="ours .* and copy"):
        Registry("thing").names()


def test_an_installation_older_than_the_code_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """New code, old metadata: a component is missing from what is installed, or stands there under its old place."""
    for there in ([("scedit", "ids", SLUG)], []):
        installed(monkeypatch, *there)
        with pytest.raises(UserError, match="the installed scedit is older than its code: no thing 'new'.*make setup"):
            Registry("thing", ("new",)).names()
    assert Registry("thing").names() == []
    for place in ("schemas.core.gone:slug", "schemas.gone.ids:slug", "schemas.core.ids:gone"):
        installed(monkeypatch, ("scedit", "ids", place))
        with pytest.raises(UserError, match=f"scedit registers the thing 'ids' as {place}, which is not there.*scedit"):
            Registry("thing", ("ids",)).get("ids")


def test_what_a_component_needs_and_has_not_is_another_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "plugin_without_its_needs.py").write_text("import no_such_package_at_all\n")
    monkeypatch.syspath_prepend(str(folder))
    installed(monkeypatch, ("other", "x", "plugin_without_its_needs:X"))
    with pytest.raises(ModuleNotFoundError, match="no_such_package_at_all"):
        Registry("thing").get("x")


@pytest.mark.parametrize(("name", "near"), [("rmoe", "rome"), ("Rome", "rome"), ("zzzz", None), ("", None)])
def test_the_nearest_name_or_none(name: str, near: str | None) -> None:
    assert suggest(name, ["rome", "ft"]) == near


def test_a_long_list_is_named_by_the_command_that_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, *(("ours", name, SLUG) for name in ("es", "s_es", "s_ns", "ppl")))
    table = Registry("thing", listing="scedit model things")
    for name, message in (
        ("s_ess", "unknown thing 's_ess'; did you mean 's_es' or 's_ns'? All of them: scedit model things"),
        ("zzzz", "unknown thing 'zzzz'; all of them: scedit model things"),
    ):
        with pytest.raises(UserError) as error:
            table.get(name)
        assert str(error.value) == message


def test_what_an_earlier_installation_left_in_a_checkout_does_not_hide_what_is_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Python finds the egg-info of the folder it runs in first; it may be of another version."""
    for folder, name, more in (("checkout", "ours.egg-info", ()), ("site", "ours-2.dist-info", ("WHEEL",))):
        place = tmp_path / folder / name
        place.mkdir(parents=True)
        (place / ("PKG-INFO" if not more else "METADATA")).write_text("Name: ours\nVersion: 2\n")
        (place / "entry_points.txt").write_text(f"[scedit.thing]\n{folder} = {SLUG}\n")
        for file in more:
            (place / file).write_text("Wheel-Version: 1.0\n")
    for order in (("checkout", "site"), ("site", "checkout")):
        monkeypatch.setattr("sys.path", [str(tmp_path / folder) for folder in order])
        assert [point.name for point in entry_points(group="scedit.thing")] == ["site"]
    monkeypatch.setattr("sys.path", [str(tmp_path / "checkout")])
    assert [point.name for point in entry_points(group="scedit.thing")] == ["checkout"]


def test_installed_packages_are_looked_through_once_for_a_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def install(name: str, folder: str) -> None:
        place = tmp_path / folder / f"{name}-1.dist-info"
        place.mkdir(parents=True)
        (place / "METADATA").write_text(f"Name: {name}\nVersion: 1\n")
        (place / "entry_points.txt").write_text(f"[scedit.thing]\n{name} = {SLUG}\n[scedit.other]\nx = {SLUG}\n")

    searches: list[None] = []
    monkeypatch.setattr("sys.path", [str(tmp_path / "first")])
    monkeypatch.setattr("schemas.core.registry.distributions", lambda: searches.append(None) or distributions())
    install("one", "first")
    assert Registry("thing").names() == ["one"] and Registry("other").names() == ["x"]
    install("two", "second")
    assert Registry("thing").names() == ["one"] and len(searches) == 1
    monkeypatch.setattr("sys.path", [str(tmp_path / "first"), str(tmp_path / "second")])
    assert Registry("thing").names() == ["one", "two"] and len(searches) == 2
    monkeypatch.setattr("sys.path", [])
    assert Registry("thing").names() == [], "another path is another search"
