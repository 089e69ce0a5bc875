"""What a tracker of experiments is told of a run: its settings, its progress, its figures."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, ClassVar

from schemas.core.errors import UserError

PROJECT = "scedit"
"""Where runs stand in a tracker, unless its own environment variables say otherwise."""


class Tracker:
    """One tracker, for one run. A plug-in implements the three methods; its library is imported when it is made.

    Attributes:
        package: The package to install, as pip names it.
        module: The module that it brings.
    """

    package: ClassVar[str]
    module: ClassVar[str]

    def __init__(self) -> None:
        try:
            self.library: Any = importlib.import_module(self.module)
        except ImportError:
            raise UserError(
                f"the tracker needs the package '{self.package}', which is not installed",
                fix=f"pip install {self.package}",
            ) from None

    def begin(self, title: str, settings: Mapping[str, Any]) -> None:
        """Open a run.

        Args:
            title: Its name.
            settings: What it runs with, nested as in the configuration.
        """
        raise NotImplementedError

    def log(self, values: Mapping[str, float], *, step: int) -> None:
        """Tell how far the run is; ``step`` rises over all methods."""
        raise NotImplementedError

    def finish(self, figures: Mapping[str, float], *, failed: bool) -> None:
        """Tell the figures, none where the run failed, and close it."""
        raise NotImplementedError


def flat_settings(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings without nesting, for trackers that take names and values.

    Example:
        >>> flat_settings({"editors": {"rome": {"layer": 5}}, "limit": None})
        {'editors.rome.layer': 5, 'limit': None}
    """
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            flat |= flat_settings(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat
