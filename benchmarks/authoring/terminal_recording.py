"""A construction as a terminal shows it: asciicasts at 80 and 110 columns, and pictures of their screens.

Two shipped facts are constructed with the embedded model, in a new store each time. The recorder is asciinema, the
screens are read with pyte (pip install "asciinema<3" pyte) and drawn with rich.

Run: python -m benchmarks.authoring.terminal_recording                  (two minutes on a free core; writes docs/assets)
     python -m benchmarks.authoring.terminal_recording --columns 60 --out /tmp/narrow
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

ROWS = 24
WIDTHS = (80, 110)
IDLE = "0.5"  # seconds at most between two changes of a recording
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
COMMAND = "construct shipped --limit 2 --questions 2 --neighbours 0 --threads 1"


def record(columns: int, cast: Path) -> None:
    """Record the command in a terminal of so many columns.

    Raises:
        subprocess.CalledProcessError: the command failed.
        FileNotFoundError: asciinema is not installed.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = f"{shlex.quote(sys.executable)} -m scedit {COMMAND} --store {shlex.quote(folder)}/my.duckdb"
        size = ["--cols", str(columns), "--rows", str(ROWS)]
        call = [
            "asciinema",
            "rec",
            "--quiet",
            "--overwrite",
            "--idle-time-limit",
            IDLE,
            *size,
            "-c",
            command,
            str(cast),
        ]
        subprocess.run(call, check=True)
        text = cast.read_text(encoding="utf-8").replace(f"{folder}/", "")
    head, *events = text.splitlines()
    header = {k: v for k, v in json.loads(head).items() if k in ("version", "width", "height", "idle_time_limit")}
    cast.write_text("\n".join([json.dumps(header), *events]) + "\n", encoding="utf-8")


def screens(cast: Path) -> Iterator[list[str]]:
    """The lines that stand on the screen after each event of a recording."""
    import pyte

    head, *events = cast.read_text(encoding="utf-8").splitlines()
    size = json.loads(head)
    screen: Any = pyte.Screen(size["width"], size["height"])
    stream: Any = pyte.Stream(screen)
    for event in map(json.loads, events):
        if event[1] == "o":
            stream.feed(event[2])
            yield [line.rstrip() for line in screen.display]


def left_behind(shown: Sequence[Sequence[str]]) -> int:
    """The most copies of the table's head on one screen beside the one that is redrawn: lines that were left behind."""
    return max((sum(line.startswith("model ") for line in lines) for lines in shown), default=1) - 1


def draw(lines: Sequence[str], columns: int, picture: Path, title: str) -> None:
    """A screen as an SVG picture."""
    with open("/dev/null", "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=columns, file=nowhere)
        console.print(Text("\n".join(lines)))
        svg = console.export_svg(title=title)
    picture.write_text(_FONTS.sub("", svg), encoding="utf-8")  # a picture fetches nothing


def main() -> None:
    """Record, count lines that were left behind, and draw a screen of the work and the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, action="append")
    parser.add_argument("--draw-only", action="store_true", help="Draw the recordings that are there.")
    parser.add_argument("--out", type=Path, default=Path("docs/assets"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for columns in options.columns or WIDTHS:
        cast = options.out / f"construct-{columns}.cast"
        if not options.draw_only:
            record(columns, cast)
        shown = list(screens(cast))
        working = [lines for lines in shown if any(" of about " in line for line in lines)]
        middle = working[len(working) * 2 // 3]
        size, left = cast.stat().st_size, left_behind(shown)
        print(f"{columns} columns: {len(shown)} changes, {size:,} bytes, {left} lines left behind")
        end = [line for line in shown[-1] if line]
        both = [*(line for line in middle if line), "", "...", "", *end]
        draw(both, columns, options.out / f"construct-{columns}.svg", f"scedit construct, {columns} columns")


if __name__ == "__main__":
    main()
