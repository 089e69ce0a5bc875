from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest


def test_the_imported_packages_are_ours() -> None:
    """PyPI has packages that install the same flat names: ours must stand beside our own root module."""
    import annotation_ui
    import construction
    import curation
    import evaluation
    import scedit
    import schemas

    home = Path(scedit.__file__).parent.parent
    for package in (annotation_ui, construction, curation, evaluation, scedit, schemas):
        assert package.__file__ and Path(package.__file__).parent.parent == home


@pytest.mark.parametrize("package", ["schemas", "curation", "construction", "evaluation", "annotation_ui"])
def test_public_functions_take_a_path_as_text_too(package: str) -> None:
    """Notebooks name files by texts. Classes that only readers of formats subclass are called with paths by us."""
    module = importlib.import_module(package)
    refusing = []
    for name in module.__all__:
        thing = getattr(module, name)
        functions = [(name, thing)] if inspect.isfunction(thing) else []
        if inspect.isclass(thing) and name not in ("Loader", "FormatReader", "Store"):
            functions.append((f"{name}.__init__", thing.__init__))
        for called, function in functions:
            annotations = {p.name: str(p.annotation) for p in inspect.signature(function).parameters.values()}
            refusing += [f"{called}: {p}" for p, kind in annotations.items() if "Path" in kind and "str" not in kind]
    assert not refusing


def test_a_store_is_opened_and_copied_by_text(tmp_path: Path) -> None:
    from curation import Store

    with Store.open(str(tmp_path / "a.duckdb"), create=True) as store:
        store.copy_to(str(tmp_path / "b.duckdb"))
    assert (tmp_path / "b.duckdb").is_file()
