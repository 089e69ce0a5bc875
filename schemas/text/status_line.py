"""The line that says how far work is: written over on a terminal, a new line now and then elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable


def duration(seconds: float) -> str:
    """Seconds as people say them.

    Example:
        >>> duration(42), duration(200), duration(7300)
        ('42 s', '3 min', '2 h 2 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


class StatusLine:
    r"""Shows one line again and again.

    Args:
        write: Takes text, without a newline of its own; standard error where left out.
        terminal: Whether a line can be written over; asked of standard error where left out.
        every: Seconds between lines where it cannot; None for no lines there at all.
        at_once: Whether the first line need not wait so long.
        clock: Seconds; replaced in tests.

    Example:
        >>> shown = []
        >>> line = StatusLine(shown.append, terminal=True)
        >>> line.show("9 of 10")
        >>> line.show("done", last=True)
        >>> shown
        ['\r9 of 10', '\rdone   ', '\n']
    """

    def __init__(
        self,
        write: Callable[[str], object] | None = None,
        *,
        terminal: bool | None = None,
        every: float | None = 10.0,
        at_once: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write = write or _to_standard_error
        self._terminal = sys.stderr.isatty() if terminal is None else terminal
        self._every, self._clock = every, clock
        self._next = clock() + (0.0 if at_once or every is None else every)
        self._width = 0

    def show(self, text: str | Callable[[], str], *, last: bool = False) -> None:
        """Show the line, where it is time.

        Args:
            text: The line, or what makes it where it is shown.
            last: Show it in any case, and end it.
        """
        if self._terminal:
            line = (text if isinstance(text, str) else text())[: shutil.get_terminal_size().columns - 1]
            self._write("\r" + line.ljust(self._width))
            self._width = len(line)
            if last:
                self.end()
        elif self._every is not None and (last or self._clock() >= self._next):
            self._write((text if isinstance(text, str) else text()) + "\n")
            self._next = self._clock() + self._every

    def end(self) -> None:
        """End a line that stands on the terminal."""
        if self._width:
            self._write("\n")
            self._width = 0


def _to_standard_error(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
