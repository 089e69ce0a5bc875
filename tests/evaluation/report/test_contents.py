"""Sections without content are named once, with what would fill them; the menu leads only where something stands."""

from __future__ import annotations

from pathlib import Path

from evaluation.report import write
from evaluation.report.contents import contents
from evaluation.report.sections import make_sections
from evaluation.report.write import write_report
from evaluation.runs.results import load_run
from tests.support.report.read_report import finished, read
from tests.support.report.texts_run import TEXTS
from tests.support.report.texts_run import finished as with_texts


def test_nothing_empty(tmp_path: Path) -> None:
    folder = finished(tmp_path)
    ((part,), _) = make_sections([load_run(folder)], None, None)
    result = contents(part, [], texts_hint="write some", ratings_hint="rate them")
    assert {"table", "paired", "cost", "caveats"} <= result.there
    assert {a.title: a.hint for a in result.absent}["Every answer"] == "write some"
    html, reader = read(write_report([folder]).files[0])
    assert "Not in this report" in html and 'class="missing"' not in html
    assert all(f'id="p1-{a}"' in html for a in result.there)
    assert not any(t[1:] not in reader.ids for t in reader.targets)


def test_answers_move_to_a_file_of_their_own_where_the_page_grows_too_large(tmp_path: Path, monkeypatch) -> None:
    run = with_texts(tmp_path, ["s_es", *TEXTS])
    html, _ = read(write_report([run.folder]).files[0])
    assert html.count('<section class="answer') == 24 and "<script" not in html
    monkeypatch.setattr(write, "LARGEST", 1000)
    files = {f.name: f for f in write_report([run.folder]).files}
    html, _ = read(files["report.html"])
    aside, reader = read(files["report-answers.html"])
    assert 'href="report-answers.html"' in html and '<section class="answer' not in html
    assert aside.count('<section class="answer') == 24 and reader.stack == [] and reader.loads == []
