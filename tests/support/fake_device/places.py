"""Places in our code: which line of which file is running, whoever called it."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = str(Path(__file__).parents[3]) + "/"
_OWN = str(Path(__file__).parent) + "/"
_PRODUCT = tuple(f"{ROOT}{name}/" for name in ("evaluation", "curation", "construction", "benchmarks"))


def place() -> str:
    """The innermost line of the product on the stack, else the innermost of a test: ``file:line function``."""
    frame, other = sys._getframe(1), ""
    while frame is not None:
        code = frame.f_code
        name = code.co_filename
        if name.startswith(_PRODUCT):
            return f"{name[len(ROOT) :]}:{frame.f_lineno} {code.co_name}"
        if not other and name.startswith(ROOT) and not name.startswith((_OWN, f"{ROOT}.venv/")):
            other = f"{name[len(ROOT) :]}:{frame.f_lineno} {code.co_name}"
        frame = frame.f_back  # type: ignore[assignment]
    return other or "?"
