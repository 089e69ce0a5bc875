"""Documentation pages as tests read them: fenced blocks, and doctests."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from annotation_ui.campaigns.campaign import task_of
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import next_item
from tests.support import ROOT
from tests.support.commands import invoke

DOCS = ROOT / "docs"


class Block(NamedTuple):
    """A fenced block of a page: what stands after the opening fence, and the text inside."""

    info: str
    text: str


def blocks(page: Path | Sequence[Path], info: str | None = None) -> list[Block]:
    """The fenced blocks of a page, or of several, in order; only those of one kind where ``info`` is given."""
    text = "".join(one.read_text(encoding="utf-8") for one in ([page] if isinstance(page, Path) else page))
    matches = re.findall(r"^```([^\n`]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(a.strip(), b) for a, b in matches if info is None or a.strip() == info]


def run(line: str) -> str:
    """A command as a page prints it; what it said. Its one sentence is raised where it fails."""
    return invoke(*shlex.split(line, comments=True)[1:])


def run_doctests(page: Path) -> int:
    """Run a page's doctests, one after the other in one namespace; the number of examples."""
    text = page.read_text(encoding="utf-8").replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner()
    assert runner.run(test).failed == 0
    return len(test.examples)


def shell(command: str, folder: Path, **variables: str) -> str:
    """Run a block as bash does, with ``scedit`` being this checkout; what it prints."""
    bin_folder = folder.parent / "bin"
    bin_folder.mkdir(exist_ok=True)
    launcher = bin_folder / "scedit"
    launcher.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m scedit "$@"\n', encoding="utf-8")
    launcher.chmod(0o755)
    env = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", **variables}
    process = subprocess.run(["bash", "-euc", command], cwd=folder, env=env, capture_output=True, text=True)
    assert process.returncode == 0, f"{command}\n{process.stdout}\n{process.stderr}"
    return process.stdout


def answer_everything(ratings: str | Path = "ratings.sqlite") -> None:
    """Every rater answers all that is open; nobody agrees on everything, and nothing is refused."""
    with RatingsDB(ratings) as db:
        for campaign in db.campaigns():
            form = task_of(db, campaign.name).form
            for person in {a.person for a in db.assignments(campaign.name)}:
                while (at := next_item(db, campaign.name, person)) is not None:
                    number = sum(map(ord, at.item + person))
                    answers = {
                        f.name: "yes" if f.kind == "yes_no" else f.allowed[(number + n) % 3 + (f.kind == "scale")]
                        for n, f in enumerate(form.asked_fields())
                    }
                    db.save(campaign.name, person, at.item, answers, form=form.label, seconds=9.0)
