"""The road from a run's scripts to calibrated judges, command by command; programs answer in place of people."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import DOCS, answer_everything, blocks, shell

PAGE = DOCS / "rating-a-run.md"


def commands() -> list[str]:
    return [block.text for block in blocks(PAGE, "bash")]


def test_every_block_but_the_server_is_one_that_runs() -> None:
    assert len(commands()) == 6
    others = [block.text for block in blocks(PAGE) if block.info != "bash"]
    assert others == ["scedit annotate serve --ratings ratings.sqlite\n"]


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.timeout(1800)
def test_from_a_run_to_calibrated_judges(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    for n, command in enumerate(commands()):
        process = shell(command, folder)
        if n == 1:
            answer_everything(folder / "ratings.sqlite")
        if n == 2:
            assert "12 of    12" in process
        if n == 3:
            assert "alpha (ordinal)" in process and "items with a disagreement" in process
            assert (folder / "agreement.html").stat().st_size > 5_000
        if n == 4:
            assert "24 answers, 24 records new" in process and "24 answers, 72 records new" in process
    assert "executability" in process
