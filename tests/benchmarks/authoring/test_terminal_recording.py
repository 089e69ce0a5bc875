"""What a recording of a terminal is read as: its screens, and lines that were left behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

benchmark = pytest.importorskip("benchmarks.authoring.terminal_recording", reason="benchmarks are not shipped")
ASSETS = Path(__file__).parents[3] / "docs" / "assets"


def test_a_table_that_is_not_redrawn_in_place_is_left_behind() -> None:
    """At 80 columns the display once wrote a new line every second."""
    table = ["model      answers", "m   1 of 2"]
    assert benchmark.left_behind([[*table], [*table, "done"]]) == 0 == benchmark.left_behind([["x"], table])
    assert benchmark.left_behind([[*table, *table], table]) == 1


def test_a_screen_is_drawn_without_a_terminal(tmp_path: Path) -> None:
    picture = tmp_path / "a.svg"
    benchmark.draw(["2 facts", "", "<done> & more"], 40, picture, "a title")
    text = picture.read_text(encoding="utf-8")
    assert text.startswith("<svg") and "font-face" not in text and "url(http" not in text
    assert "2&#160;facts" in text and "&lt;done&gt;" in text


@pytest.mark.parametrize("columns", benchmark.WIDTHS)
def test_the_recordings_of_the_docs_are_small_and_hold_no_place_on_a_machine(columns: int) -> None:
    cast = (ASSETS / f"construct-{columns}.cast").read_text(encoding="utf-8")
    head = json.loads(cast.splitlines()[0])
    assert (head["version"], head["width"]) == (2, columns) and "env" not in head and "timestamp" not in head
    assert len(cast) < 100_000 and "/tmp" not in cast and "tokens/s" in cast
    assert (ASSETS / f"construct-{columns}.svg").stat().st_size < 100_000
