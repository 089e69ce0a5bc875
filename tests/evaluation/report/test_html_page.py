"""The page: whole, loading nothing, escaping what it is given; failures, doubts and set-up are on it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from curation.splits.split_file import make_split
from curation.store.store import Store
from evaluation.report import html_page
from evaluation.report.html_page import errors
from evaluation.report.write import write_report
from evaluation.runs.results import load_run
from schemas.lineage import Lineage
from schemas.verdicts import Verdict
from tests.support.arithmetic import ArithmeticLM, make_case, make_cases
from tests.support.report.read_report import finished, read

HOSTILE = "<script>alert('x')</script>&\"|"


def test_it_is_whole_and_loads_nothing(tmp_path):
    html, reader = read(write_report([finished(tmp_path)]).files[0])
    assert reader.stack == []
    assert reader.loads == []
    assert not re.search(r"@import|url\(|<script", html)
    assert all(t.startswith("#") and t[1:] in reader.ids for t in reader.targets)
    assert len(reader.ids) == len(set(reader.ids))


def test_hostile_text_is_escaped(tmp_path):
    cases = [make_case(f"{HOSTILE} {n}", old=f"{HOSTILE} Lima", new=f"Oslo {HOSTILE}") for n in range(3)]
    split = make_split(f"mini{HOSTILE}", [c.model_copy(update={"key": f"case/{n}"}) for n, c in enumerate(cases)])
    lm = ArithmeticLM(name=HOSTILE)
    editors = [{"name": "push", "label": HOSTILE, "params": {"fail": [cases[0].fact.subject.text]}}]
    html, reader = read(write_report([finished(tmp_path, split=split, lm=lm, editors=editors)]).files[0])
    assert "<script" not in html
    assert "alert('x')" not in html.replace("&#39;", "'").replace("&lt;script&gt;alert('x')", "")
    assert HOSTILE in "".join(reader.text)
    assert reader.stack == []


def test_what_turns_or_hides_text_is_written_out(tmp_path):
    """A name that reads backwards, hides a space or clears the screen of who prints the page."""
    odd = "Li\u202ema\u200b \ufeffX\u2066"
    split = make_split("mini", [make_case(f"Land{n}", old=odd, new="Oslo") for n in range(3)])
    html, _ = read(write_report([finished(tmp_path, split=split)]).files[0])
    assert not set("\u202e\u200b\ufeff\u2066") & set(html)
    assert "Li\\u202ema\\u200b" in html


def test_header_names_model_data_and_method(tmp_path):
    html, _ = read(write_report([finished(tmp_path)]).files[0])
    run = load_run(tmp_path)
    parts = [
        "arithmetic",
        "float32",
        run.split.digest[:16],
        "split tiny 1.0.0",
        "11 of 11",
        "8 counterfactual",
        "[low, high]",
    ]
    parts += ["log-probability per target token", "single: each edit alone", run.baseline.manifest.key[:10]]
    for text in parts:
        assert text in html


def test_failures_blow_ups_and_ties_are_shown(tmp_path):
    class Flat(ArithmeticLM):
        def _answer(self, probe, prompt):
            answer = super()._answer(probe, prompt)
            same = tuple(t.model_copy(update={"logprob": -3.0}) for t in answer.targets)
            return answer.model_copy(update={"targets": same}) if "capital city" in prompt else answer

    editors = [{"name": "push", "params": {"fail": ["Land01"]}}]
    _, reader = read(write_report([finished(tmp_path, editors=editors, lm=Flat())]).files[0])
    text = " ".join("".join(reader.text).split())
    assert "RuntimeError: cannot edit Land01" in text
    assert "push: 1 of 11 cases ended in an error" in text
    assert "Diverged edits" in text and "0.5470" in text.replace(" ", "")
    assert re.search(r"Ties ?11 ?10 ?Truncated ?0 ?0 ?Unscored ?0 ?0 ?Failed cases ?0 ?1", text)


def test_a_rate_without_spread_has_the_exact_interval(tmp_path):
    html, _ = read(write_report([finished(tmp_path, editors=[{"name": "push", "params": {"strength": 99}}])]).files[0])
    assert "[63.1,\N{NO-BREAK SPACE}100.0]" in html, "eight of eight: the exact interval"
    assert "± 0.0" not in html


def test_construction_is_shown_and_called_what_it_is(tmp_path):
    from curation.files.model_packages import EMBEDDED_LABEL

    def verdict(n: int, label: str, reason: str) -> Verdict:
        item = f"{n:020d}"
        return Verdict(key=f"verdict/leak@1/{item}", item_id=item, by="leak@1", label=label, reason=reason)

    path = tmp_path / "s.duckdb"
    with Store.open(path, create=True) as store:
        verdicts = [verdict(n, "keep", "") for n in range(5)] + [
            verdict(n, "drop", "old <object> named") for n in (6, 7)
        ]
        store.put(verdicts, [Lineage(item_id="a", stage="scripts", made_at="2026-01-01", model=EMBEDDED_LABEL)])
    html, _ = read(write_report([finished(tmp_path / "run")], store=path).files[0])
    assert "5 items kept, 2 dropped" in html
    assert "2 × leak: old &lt;object&gt; named" in html
    assert "Smoke-test quality" in html


def test_a_case_alone_has_no_interval(tmp_path):
    html, reader = read(write_report([finished(tmp_path, split=make_cases(1, 0))]).files[0])
    assert "n = 1: too few" in html and "[n = 1" not in html and "± –" not in html and reader.stack == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([1, 2, 3, 4], "[1, 2, 3, 4]"),
        ([1, 2, 3, 4, 5], "(5 values)"),
        ({str(n): n for n in range(9)}, "(9 values)"),
        ([], "[]"),
        ("São Tomé", '"São Tomé"'),
        (None, "null"),
        (1e-5, "1e-05"),
    ],
)
def test_long_settings_are_told_by_their_number(value: Any, text: str) -> None:
    assert html_page._setting(value) == text


def test_options_of_a_method_are_on_the_page(tmp_path: Path) -> None:
    fail = [f"Nobody{n}" for n in range(6)]
    out = finished(tmp_path, editors=[{"name": "push", "params": {"strength": 2.5, "fail": fail}}], limit=2)
    html, _ = read(write_report([out]).files[0])
    assert "(6 values)" in html and "2.5" in html and "Nobody3" not in html


def test_errors_of_every_method_by_case(tmp_path: Path) -> None:
    editors = [
        {"name": "push", "label": "one", "params": {"fail": ["Land01"]}},
        {"name": "push", "label": "two", "params": {"fail": ["Land01", "Land02"]}},
    ]
    rows = errors(load_run(finished(tmp_path, split=make_cases(12, 0), editors=editors)))
    assert {(e["label"], e["case"]) for e in rows} == {
        ("one", "case/land01"), ("two", "case/land01"), ("two", "case/land02")
    }  # fmt: skip
    assert all(e["error"].startswith("RuntimeError: cannot edit Land0") for e in rows)


def test_a_metric_without_a_value_has_no_column(tmp_path: Path) -> None:
    """No case has a temporal neighbour, so bleed-over has no value: a column of dashes says nothing."""
    out = finished(tmp_path, split=make_cases(4, 0), metrics=["es", "s_bo"])
    html, _ = read(write_report([out]).files[0])
    heads = " ".join(re.sub("<[^>]+>", " ", head) for head in re.findall(r"<thead>.*?</thead>", html, re.S))
    assert "ES" in heads and "S-BO" not in heads


def test_a_program_that_is_not_installed_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from importlib.metadata import PackageNotFoundError

    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(html_page, "version", absent)
    html, _ = read(write_report([finished(tmp_path, limit=1)]).files[0])
    assert "by scedit not installed" in html


def test_what_a_run_has_not_is_left_out_and_named_once(tmp_path: Path) -> None:
    html, reader = read(write_report([finished(tmp_path, limit=1)]).files[0])
    assert "Not measured: what the model writes, ratings of texts, many edits in one model." in html
    assert not {"p1-text", "p1-judging", "p1-many", "p1-seeds"} & set(reader.ids) and "Not in this report" not in html


def test_every_picture_as_a_file(tmp_path: Path) -> None:
    written = write_report([finished(tmp_path / "run")], figures=tmp_path / "pictures")
    names = sorted(path.name for path in written.pictures)
    assert {"es.svg", "es.png", "es.pdf", "s-bo.pdf", "correlations-pooled.svg"} <= set(names)
    assert all(path.stat().st_size > 500 for path in written.pictures)
    assert (tmp_path / "pictures" / "es.pdf").read_bytes().startswith(b"%PDF")


def test_a_null_method_beats_nobody_and_what_could_never_be_decided_is_counted(tmp_path: Path) -> None:
    """ "PS: boost beats none" stood first among what was decided, in bold."""
    editors = ["none", {"name": "push", "label": "rome"}, "boost"]
    html, _ = read(write_report([finished(tmp_path, split=make_cases(6, 0), editors=editors)]).files[0])
    part = html.split('<h2 id="p1-paired">')[1].split("<h2")[0]
    assert "<td>boost</td>" in part and "<td>boost</td>" not in part.split("All comparisons")[0], (
        "a control is never decided"
    )
    html, _ = read(write_report([finished(tmp_path / "few", split=make_cases(3, 0), editors=editors)]).files[0])
    part = html.split('<h2 id="p1-paired">')[1].split("<h2")[0]
    assert "No comparison of methods is decided" in part and "<td>never</td>" in part
