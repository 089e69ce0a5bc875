"""Errors a user can act on: what is wrong, where, what was allowed, what to do next."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
_HERE = Path(__file__).resolve().parents[2]


class UserError(Exception):
    """A mistake or fault that the person at the keyboard can mend; the command line prints it without a traceback.

    Args:
        what: What is wrong, as a clause without a final full stop.
        where: File and line, record key or option, or None.
        allowed: What would have been accepted, or None.
        fix: The next step to take, or None.

    Attributes:
        exit_status: Exit status of a command that ends with this error.
        lines: What it is about, one by one; a command prints them before the error.

    Example:
        >>> str(UserError("unknown editor 'rme'", where="run.toml", allowed="rome, ft", fix="did you mean 'rome'?"))
        "run.toml: unknown editor 'rme'; allowed: rome, ft; did you mean 'rome'?"
    """

    exit_status: int = 1
    lines: tuple[str, ...] = ()

    def __init__(
        self, what: str, *, where: str | None = None, allowed: str | None = None, fix: str | None = None
    ) -> None:
        self.what, self.where, self.allowed, self.fix = what, where, allowed, fix
        text = f"{where}: {what}" if where else what
        if allowed:
            text += f"; allowed: {allowed}"
        if fix:
            text += f"; {fix}"
        super().__init__(text)


class DataError(UserError):
    """A record or a file that cannot be read as what it should be."""


class StoreError(UserError):
    """The store is locked, damaged, foreign or newer than this program."""


class ModelError(UserError):
    """A language model, its endpoint or its key does not do what is needed."""


class MissingPackage(UserError):
    """An optional package is not installed."""

    def __init__(self, package: str, *, extra: str) -> None:
        super().__init__(f"the package '{package}' is not installed", fix=f"run: pip install 'scedit[{extra}]'")


def one_line(problem: BaseException) -> str:
    """An exception as one line: its type, its message and, unless it is a ``UserError``, the file and line it is from.

    The file is the innermost one that belongs to no installed library: usually the component that failed.

    Example:
        >>> one_line(UserError("the file is empty", fix="name another"))
        'UserError: the file is empty; name another'
    """
    text = f"{type(problem).__name__}: {' '.join(str(problem).split())}".removesuffix(": ")
    frames = traceback.extract_tb(problem.__traceback__)
    if isinstance(problem, UserError) or not frames:
        return text
    own = [frame for frame in frames if not frame.filename.startswith((*_LIBRARIES, "<"))]
    frame = own[-1] if own else frames[-1]
    return f"{text} ({_short(frame.filename)}, line {frame.lineno})"


def _short(file: str) -> str:
    """A file's path from this package or from the working directory, where it is inside one of them."""
    for folder in (_HERE, Path.cwd()):
        if Path(file).is_relative_to(folder):
            return str(Path(file).relative_to(folder))
    return file
