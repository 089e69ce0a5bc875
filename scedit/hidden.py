"""Folders and files of the user's own that would be imported in the place of the toolkit's packages."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("schemas", "curation", "construction", "evaluation", "annotation_ui")


def refuse_hidden(packages: Iterable[str] = PACKAGES, *, beside: Path | None = None) -> None:
    """Refuse to work where one of our packages is hidden.

    Args:
        packages: Their names.
        beside: The folder in which they must stand; that of this package where left out.

    Raises:
        ImportError: names the place that hides one.
    """
    home = beside or Path(__file__).resolve().parents[1]
    for name in packages:
        spec = find_spec(name)
        place = Path(spec.origin).resolve() if spec and spec.origin else None
        if place is not None and place.parent.parent != home:
            shown = place.parent if place.name == "__init__.py" else place
            raise ImportError(f"{shown} hides the toolkit's package '{name}': rename it, or start Python elsewhere")
