from __future__ import annotations

from pathlib import Path


def test_the_imported_packages_are_ours() -> None:
    """PyPI has packages that install the same flat names: ours must stand beside our own root module."""
    import annotation_ui
    import construction
    import curation
    import evaluation
    import scedit
    import schemas

    home = Path(scedit.__file__).parent
    for package in (annotation_ui, construction, curation, evaluation, schemas):
        assert package.__file__ and Path(package.__file__).parent.parent == home
