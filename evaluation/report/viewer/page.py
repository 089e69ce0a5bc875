"""The answer viewer: one page that loads nothing, with every written text of runs on one split."""

from __future__ import annotations

import base64
import gzip
import json
from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from evaluation.analysis.comparison import merge_runs
from evaluation.analysis.text_ratings import RatedTexts
from evaluation.analysis.written_texts import PLACES, answer_entries, disagreement
from evaluation.report.html_page import reveal_hidden
from evaluation.report.narrative import model_name
from evaluation.runs.results import Run, cases_by_key
from schemas.core.errors import UserError

_FOLDER = Path(__file__).with_name("assets")
Numbers = defaultdict[str, int]
"""Texts by number, each once: a text that is new gets the next number."""
LARGEST = 5_000_000
"""Bytes that the page of 58 cases under 20 methods stays below (tested)."""


def viewer_page(runs: Sequence[Run], texts: RatedTexts | None = None) -> str:
    """The whole page.

    Args:
        runs: Run folders read back, of one split of facts.
        texts: Scripts and ratings of stores.

    Raises:
        UserError: runs of different splits, or of events or documents; no text was written in any of them.
    """
    check_runs(runs)
    packed = gzip.compress(json.dumps(viewer_data(runs, texts), ensure_ascii=False).encode("utf-8", "replace"), mtime=0)
    page = (_FOLDER / "viewer.html").read_text(encoding="utf-8")
    parts = {
        "/*STYLE*/": (_FOLDER / "viewer.css").read_text(encoding="utf-8"),
        "/*SCRIPT*/": (_FOLDER / "viewer.js").read_text(encoding="utf-8"),
        "<!--DATA-->": base64.b64encode(packed).decode("ascii"),
    }
    for mark, text in parts.items():
        page = page.replace(mark, text)
    return page


def check_runs(runs: Sequence[Run]) -> None:
    """Refuse what cannot stand side by side.

    Raises:
        UserError: runs of different splits, or of events or documents.
    """
    first = runs[0]
    for run in runs:
        if run.split.type != "fact":
            raise UserError(
                f"the viewer shows runs on facts, this one is on {run.split.type}s",
                where=str(run.folder),
                fix="read its answers with scedit report, or scedit results table",
            )
        if run.split.digest != first.split.digest:
            raise UserError(
                "the runs are on different splits, so their answers do not stand side by side",
                where=f"{first.folder} ({first.split.digest[:12]}) and {run.folder} ({run.split.digest[:12]})",
                fix="view them one by one",
            )


def viewer_data(runs: Sequence[Run], texts: RatedTexts | None = None) -> dict[str, Any]:
    """What the page's program reads: every string once, a row of numbers a text.

    A row: part, case, place, prompt, method, edited, text, end, tokens, first object, disagreement, ratings, thought.

    Raises:
        UserError: no text was written.
    """
    merged = merge_runs(runs)
    methods, cases, asked, strings, raters = (Numbers(count().__next__) for _ in range(5))
    titles, places = dict[str, str](), list(PLACES.values())
    rows: list[list[Any]] = []
    parts = [f"{model_name(run.about['model'])} ({run.about['dtype']}, {run.about['regime']})" for run in merged]
    for part, run in enumerate(merged):
        facts = {key: case.fact for key, case in cases_by_key(run).items()}
        for entry in answer_entries(run, texts):
            fact = facts[entry["case"]]
            new = fact.new.text if fact.new else "–"
            titles[entry["case"]] = reveal_hidden(f"{fact.subject.text}: {fact.old.text} → {new}")
            thought = []  # its text, the object that it names last, whether it has no end
            if entry["thought"] or entry["unfinished"]:
                last = "" if entry["reading"] is None else entry["reading"].last
                thought = [strings[reveal_hidden(entry["thought"])], last, int(entry["unfinished"])]
            ratings = [[raters[reveal_hidden(f"{r.rated_by.name}, {r.aspect}")], r.value] for r in entry["ratings"]]
            rows.append(
                [
                    *(part, cases[entry["case"]], places.index(entry["place"]), asked[reveal_hidden(entry["asked"])]),
                    *(methods[reveal_hidden(entry["label"])], int(entry["edited"])),
                    *(strings[reveal_hidden(entry["text"])], entry["ended"], entry["tokens"], entry["first"]),
                    *(disagreement(entry["ratings"]), ratings, thought),
                ]
            )
    if not rows:
        raise UserError(
            "no text was written in these runs",
            where=", ".join(str(run.folder) for run in runs),
            fix="add es_gen or s_es_gen_question to the run's metrics and run it again: only the texts are asked",
        )
    return {
        "split": f"{runs[0].split.name} {runs[0].split.version}",
        "parts": parts,
        "places": places,
        "methods": list(methods),
        "cases": [[key, titles[key]] for key in cases],
        "asked": list(asked),
        "texts": list(strings),
        "raters": list(raters),
        "rows": rows,
    }
