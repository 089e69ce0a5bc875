"""A whole run on a handful of events with a tiny model: interrupted, killed and resumed; other engines; the report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from curation.export.formats import export
from curation.splits.split_file import Split, make_split
from evaluation.analysis.comparison import Comparison, compare
from evaluation.analysis.events import read_answer_ratings, with_ratings
from evaluation.cli.judge import judge
from evaluation.cli.reproduce import reproduce
from evaluation.metrics import METRICS
from evaluation.metrics.generation import metrics_of
from evaluation.report.write import write_report
from evaluation.reproduction.published import data_difference, published_data
from evaluation.runs.frame import score_run
from evaluation.runs.results import load_run
from evaluation.runs.runner import EditorOutcome
from schemas.cases import EventCase
from schemas.facts import Entity
from tests.evaluation.scenarios.test_killed import lines, numbers
from tests.support.arithmetic import make_config
from tests.support.evaluation.open_answers import by_words
from tests.support.evaluation.tiny_runs import run_tiny
from tests.support.events import make_event, make_fact_question, make_tendency
from tests.support.scripted_server import ScriptedServer
from tests.support.stats.nearly import nearly
from tests.support.tiny import make

pytestmark = pytest.mark.usefixtures("no_pictures")

TEXTS = [
    "Alba Rail merged with Brenta Rail.",
    "Corvo Foods moved to Turin.",
    "Lima is called Ciudad.",
    "Oslo left Norway.",
]
METHODS = [
    "placebo",
    "say_unknown",
    "ice",
    {"name": "bm25", "params": {"memory": "split"}},
    {"name": "ft_lm", "params": {"lr": 1e-3, "scope": "mlps"}},
]
NAMES = [name for name in METRICS.names() if "event" in METRICS.get(name).takes]
RATED = {name for name in NAMES if name.startswith("ev_open")} | {"ev_all_edit"}


def events() -> Split:
    """Four events; the last two have questions of one kind only."""
    cases = []
    for n, text in enumerate(TEXTS):
        key, name = f"e/{n}", text.split()[0]
        facts = (
            make_fact_question(f"Where is {name}?", "Turin", event=key, key=f"{key}/f1"),
            make_fact_question(f"Who leads {name}?", "unknown", event=key, key=f"{key}/f2"),
            make_fact_question(f"Who founded {name}?", "Ada", event=key, key=f"{key}/f3", scope="out"),
        )
        choices = (
            make_tendency(f"How may {name} change?", event=key, key=f"{key}/t1"),
            make_tendency("How may rain change?", "C", event=key, key=f"{key}/t2", scope="out"),
        )
        event = make_event(key, text, type="merger" if n % 2 else "move")
        parts = {"facts": facts if n != 3 else (), "tendencies": choices if n != 2 else ()}
        cases.append(EventCase(key=f"case/{key}", event=event, **parts))
    return make_split("events", cases)


def run(out: Path, *, stop_after: int | None = None, **more: Any) -> list[EditorOutcome]:
    """All methods under all metrics; broken off after so many finished units."""
    lm, counts = make("llama", max_position_embeddings=512), [0]
    table = {"answer_tokens": 4, "open_tokens": 6, **more.pop("events", {})}
    config = make_config(out, **{"editors": METHODS, "metrics": NAMES, "events": table, **more})

    def on_event(progress: Any) -> None:
        counts[0] += not progress.note
        if stop_after is not None and counts[0] > stop_after:
            raise KeyboardInterrupt

    return run_tiny(config, events(), lm, on_event=on_event)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("events") / "whole"
    assert not any(outcome.failed for outcome in run(out))
    return out


def table_of(out: Path) -> Comparison:
    run_ = load_run(out)
    return compare(run_, score_run(run_, metrics_of(run_.about), "mean"), metrics_of(run_.about))[0]


def test_every_method_has_every_answer(whole: Path) -> None:
    rows = {row.label: row for row in table_of(whole).rows}
    assert list(rows) == ["none", "placebo", "say_unknown", "ice", "bm25", "ft_lm"]
    for row in rows.values():
        assert {m for m, s in row.summaries.items() if s.unscored} <= RATED, "open answers are rated afterwards"
        assert row.summaries["ev_open"].mean is None and row.summaries["ev_open"].unscored == 3
        assert {m: s.truncated for m, s in row.summaries.items() if s.truncated} == {}
        counts = {m: (s.items, s.cases) for m, s in row.summaries.items()}
        assert counts["ev_fact"] == (6, 3) and counts["ev_fact_edit"] == (3, 3) and counts["ev_choice"] == (3, 3)
        assert (
            counts["ev_fact_local"] == ((0, 0) if row.baseline else (3, 3))
            and counts["ev_choice_mass"] == (6, 3)
            and counts["ev_background"] == (0, 0)
        )
    summaries = rows["say_unknown"].summaries
    assert (summaries["ev_unknown"].mean, summaries["ev_known"].mean, summaries["ev_fact"].mean) == (1.0, 0.0, 0.5)
    assert summaries["ev_fact_local"].mean == 0.0 and summaries["ev_choice_mass"].mean == pytest.approx(0.0)
    assert rows["say_unknown"].control and rows["placebo"].control and not rows["ice"].control
    assert rows["none"].summaries["ev_fact_local"].mean is None, "1 by definition is no figure"
    gain = rows["say_unknown"].gain["ev_unknown"]
    assert gain.mean == 1.0 and gain.n == 3 and gain.high is None


def test_interrupted_and_resumed_is_the_same_run(whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "broken"
    for units in (3, 7):
        with pytest.raises(KeyboardInterrupt):
            run(out, stop_after=units)
    run(out)
    want, rows = lines(whole), lines(out)
    assert {k: numbers(v) for k, v in rows.items()} == nearly({k: numbers(v) for k, v in want.items()})
    assert len(want) == 24


def test_one_at_a_time_gives_the_same_answers(whole: Path, tmp_path: Path) -> None:
    run(tmp_path / "simple", engine="simple", editors=[METHODS[2], METHODS[4]])
    want, rows = lines(whole), lines(tmp_path / "simple")
    assert len(rows) == 12
    assert {k: numbers(v)["answers"] for k, v in rows.items()} == nearly({k: numbers(want[k])["answers"] for k in rows})


def test_the_report_shows_routing_unknown_and_what_a_mean_is_over(whole: Path) -> None:
    files = write_report([whole]).files
    page = next(f for f in files if f.name == "report.html").read_text(encoding="utf-8")
    for text in (
        "Routing: which event was put before each question",
        "The answer “unknown”",
        "Locality next to the placebo",
        "Whole events by the number",
    ):
        assert text in page
    assert "Generated texts" not in page, "one table: nothing about events is a score of given tokens alone"
    assert "Do facts follow the event?" in page and "how-to scripts" not in page.partition("</section>")[0]
    assert "Event-level knowledge editing" in page and "Script-based" not in page and "S-ES" not in page
    assert "n = 3: too few, 6 questions" in page
    markdown = next(f for f in files if f.suffix == ".md").read_text(encoding="utf-8")
    assert "(n = 3: too few, 6 questions)" in markdown and "Events: merger (2)" in markdown


def test_open_answers_are_judged_and_reported(whole: Path, tmp_path: Path) -> None:
    """The run's folder is judged as scripts are: same command, same journal; the report then has the metrics."""
    folder = Path(shutil.copytree(whole, tmp_path / "run"))
    command = [str(folder), "--model", "gpt-x", "--api-key-env", "SCEDIT_NO_KEY", "--retest", "0", "--json"]
    with ScriptedServer(by_words) as server:
        outcome = CliRunner().invoke(judge, [*command, "--base-url", server.url])
        count = len(server.requests)
        result = CliRunner().invoke(judge, [*command, "--base-url", server.url])
        assert len(server.requests) == count
    assert outcome.exit_code == 0, (outcome.output, outcome.exception)
    data = json.loads(outcome.stdout)
    assert set(data) == {"tendency", "consistency"} and json.loads(result.stdout)["tendency"]["outcome"]["calls"] == 0
    cells = {(c["editor"], c["aspect"]): c for c in data["tendency"]["cells"]}
    assert len(cells) == 6 * 4 and all(c["scripts"] == 3 and 1 <= c["mean"] <= 5 for c in cells.values())
    files = write_report([folder]).files
    page = next(f for f in files if f.name == "report.html").read_text(encoding="utf-8")
    assert "Open answers rated by gpt-x" in page
    assert "judge:gpt-x, open answers" in page
    means = {c["editor"]: c["mean"] for c in data["tendency"]["cells"] if c["aspect"] == "overall"}
    run_ = with_ratings(load_run(folder), read_answer_ratings([folder / "scripts.duckdb"]))
    scored = score_run(run_, metrics_of(run_.about), "mean")
    rows = {r.label: r.summaries for r in compare(run_, scored, metrics_of(run_.about))[0].rows}
    assert {m for r in rows.values() for m, s in r.items() if s.unscored} == set()
    assert {label: r["ev_open"].mean for label, r in rows.items()} == pytest.approx(
        {label: (mean - 1) / 4 for label, mean in means.items()}
    ), "this judge says 5 or 1, so the mean rating gives the share of full marks"
    assert rows["none"]["ev_open_local"].mean is None


def test_published_figures_say_why_ours_are_not_comparable(whole: Path, tmp_path: Path) -> None:
    """The published file is the run's own split here, so the data agree until a question of the file is another."""
    cases = [case for case in events().all_cases if isinstance(case, EventCase)]
    variants = [
        case.model_copy(
            update={"facts": tuple(q.model_copy(update={"subject": Entity(text="it")}) for q in case.facts)}
        )
        for case in cases
    ]
    export(make_split("published", variants), path := tmp_path / "elken-test.json", "elken")
    words = ["elken-table2", str(whole), "--data", str(tmp_path), "--json"]

    def ours() -> dict[tuple[str, str], str]:
        outcome = CliRunner().invoke(reproduce, words, catch_exceptions=False)
        rows = [row for row in json.loads(outcome.stdout) if "printed" in row and row["printed"]["model"] == "GPT-J"]
        assert {row["verdict"] for row in rows} == {"not comparable", "no figure"}
        return {(row["printed"]["method"], row["printed"]["metric"]): row["told"] for row in rows if row["told"]}

    reasons = ours()
    assert {method for method, _ in reasons} == {"FT", "BM25", "ICE"}
    assert "another model than GPT-J; one instruction for all methods" in reasons["ICE", "ev_fact"]
    assert "6 questions of 3 events, ice" in reasons["ICE", "ev_fact"] and "regime" not in reasons["ICE", "ev_fact"]
    assert "regime single, not all events at once" in reasons["FT", "ev_fact"]
    assert ("ICE", "ev_open") not in reasons, "nobody has rated the open answers"
    assert data_difference("elken-test", cases, published_data(["elken-test"], tmp_path)) == ""
    path.write_text(path.read_text().replace("Who leads Alba", "Who led Alba"))
    assert data_difference("elken-test", cases, published_data(["elken-test"], tmp_path)) == (
        "other data than elken-test.json: 1 case of 4 is not in the file, 1 case of the file is not here"
    )


def test_rows_of_several_regimes_stand_in_one_table(whole: Path, tmp_path: Path) -> None:
    """Fine-tuning on all events at once, retrieval among all, the event itself: one table, with the active edits."""
    batch, sequence = tmp_path / "batch", tmp_path / "sequence"
    less = {"editors": [METHODS[2], METHODS[4]], "metrics": ["ev_fact", "ev_choice"]}
    run(batch, regime={"name": "batch", "size": 4}, **less)
    run(sequence, regime={"name": "sequential", "size": [2, 4]}, **less)
    files = write_report([whole, batch, sequence], out=tmp_path / "report").files
    (part,) = json.loads(next(f for f in files if f.name == "results.json").read_text(encoding="utf-8"))["parts"]
    holding = {label: tuple(edits) for label, edits in part["active_edits"].items()}
    assert holding == {
        **{"none": (0, 0), "placebo": (1, 1), "say_unknown": (1, 1), "bm25": (4, 4)},
        **{"ice (single)": (1, 1), "ft_lm (single)": (1, 1), "ice (batch of 4)": (4, 4), "ft_lm (batch of 4)": (4, 4)},
        **{"ice (sequential)": (4, 4), "ft_lm (sequential)": (4, 4)},
    }
    page = next(f for f in files if f.name == "report.html").read_text(encoding="utf-8")
    assert "Active edits" in page and "in 3 regimes: each edit alone" in page and "cannot be compared" not in page
    markdown = next(f for f in files if f.suffix == ".md").read_text(encoding="utf-8")
    assert "| Method | Active edits |" in markdown and "| ft_lm (batch of 4) | 4 |" in markdown
    assert "Edits &" in next(f for f in files if f.suffix == ".tex").read_text(encoding="utf-8")
