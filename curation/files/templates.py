"""Pages and cards by jinja2 templates: one way to set them up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


def templates_in(
    folder: Path,
    *,
    filters: Mapping[str, Any],
    html: bool = False,
    finalize: Callable[[object], object] | None = None,
) -> Environment:
    """The templates of a folder; a name that one is not given is an error, and lines of tags leave no blank line.

    Args:
        folder: Where the templates are.
        filters: What they call, by name.
        html: Whether every value is escaped as HTML.
        finalize: What every value passes before it is put in.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    place = Environment(
        loader=FileSystemLoader(folder),
        autoescape=html,
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    place.filters |= filters
    return place
