from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

from curation.export import hub
from evaluation.cli.results import forgetting as command
from evaluation.cli.results import item_analysis, push_model, push_results, table, view
from evaluation.saved_edits.save import save_edit
from schemas.core.errors import UserError
from tests.support.arithmetic import go, make_cases
from tests.support.editors.saved_edits import cases, editor
from tests.support.report import read_report
from tests.support.report.fading import run
from tests.support.report.texts_run import finished
from tests.support.tiny import make


def test_command(tmp_path: Path) -> None:
    run(tmp_path)
    result = CliRunner().invoke(command, [str(tmp_path)], catch_exceptions=False)
    assert result.exit_code == 0 and "\N{MINUS SIGN}50.0" in result.stdout.splitlines()[4]
    outcome = CliRunner().invoke(command, [str(tmp_path), "--jsonl", "--metrics", "es"], catch_exceptions=False)
    lines = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert [line["lost"]["mean"] for line in lines] == [0.0, 0.0, -0.5]
    everything = lines[2]["all"]
    assert {k: everything[k] for k in ("mean", "half_width_95", "cases")} == {
        "mean": 0.0,
        "half_width_95": None,
        "cases": 4,
    }
    assert everything["low_95"] is everything["high_95"] is None, "four cases are too few for an interval"


def test_metrics_over_written_texts_are_read_as_they_were_asked(tmp_path: Path) -> None:
    """Their probes depend on how the run had texts written."""
    run(tmp_path, metrics=["es", "s_es_gen"], generation={"step_tokens": 7})
    result = CliRunner().invoke(command, [str(tmp_path), "--jsonl"], catch_exceptions=False)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert {line["metric"] for line in lines} == {"es", "s_es_gen"}
    assert all(line["all"]["mean"] is not None for line in lines)


def test_a_run_of_several_batch_sizes(tmp_path: Path) -> None:
    go(tmp_path, metrics=["es"], regime={"name": "batch", "size": [1, 3]})
    result = CliRunner().invoke(command, [str(tmp_path)], catch_exceptions=False)
    head, _, *rows, last = result.stdout.splitlines()
    assert "made together" in head and "With the fewest" in head and "every size has" in last
    assert [row.split()[:3] for row in rows] == [["push", "ES", "1"], ["push", "ES", "3"]]
    assert rows[0].split()[-2:] == ["\N{EN DASH}"] * 2 and rows[1].rstrip().endswith("]"), "not with itself"
    outcome = CliRunner().invoke(command, [str(tmp_path), "--jsonl"], catch_exceptions=False)
    assert [json.loads(line)["edits"] for line in outcome.stdout.splitlines()] == [1, 3]


def test_the_model_itself_along_a_sequence(tmp_path: Path) -> None:
    run(tmp_path)
    shown = CliRunner().invoke(command, [str(tmp_path), "--states"], catch_exceptions=False).stdout.splitlines()
    assert shown[0].split()[:3] == ["Method", "Edits", "Perplexity"] and "n = 24" in shown[1]
    assert [line.split()[1] for line in shown[2:5]] == ["1", "2", "4"]
    assert shown[-1].startswith("Perplexity of 24 plain texts")
    outcome = CliRunner().invoke(command, [str(tmp_path), "--states", "--jsonl"], catch_exceptions=False)
    states = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert [(s["edits"], s["made"], s["perplexity"]["cases"]) for s in states] == [(1, 1, 24), (2, 1, 24), (4, 2, 24)]
    assert states[2]["seconds"]["mean"] > 0 and states[2]["norms"] == []


RESULTS = {"README.md", "answers.parquet", "scores.parquet", "figures.parquet"}


def call(command: Any, *words: str) -> str:
    return str(CliRunner().invoke(command, list(words), catch_exceptions=False).stdout)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    calls: list[Any] = []

    def note(files: Any, repository: str, **options: Any) -> str:
        contents = {f.name: f.content if isinstance(f.content, bytes) else f.content.read_bytes() for f in files}
        calls.append((contents, repository, options))
        return "https://hub/commit/1"

    monkeypatch.setattr(hub, "push_files", note)
    return calls


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return save_edit(editor("ft", make("llama"), tmp_path / "m"), cases(1), tmp_path / "out", saved_as="deltas").folder


def test_results_dry_and_sent(tmp_path: Path, sent: list[Any]) -> None:
    run = finished(tmp_path / "mine", ["es"])
    dry = json.loads(call(push_results, str(run.folder), "me/r", "--dry-run", "--json"))
    assert set(dry["files"]) == RESULTS and dry["sent"] is False and not sent
    assert "https://hub/commit/1" in call(push_results, str(run.folder), "me/r", "--message", "m")
    ((contents, repository, options),) = sent
    assert set(contents) == RESULTS and repository == "me/r"
    assert options == {"kind": "dataset", "public": False, "message": "m"}


def test_a_saved_edit_dry_and_sent(saved: Path, sent: list[Any]) -> None:
    assert "nothing was sent to me/e" in call(push_model, str(saved), "me/e", "--dry-run") and not sent
    call(push_model, str(saved), "me/e", "--public")
    ((contents, _, options),) = sent
    assert contents == {p.name: p.read_bytes() for p in saved.iterdir()}
    assert options["kind"] == "model" and options["public"] is True


def test_what_cannot_be_sent(saved: Path, tmp_path: Path, sent: list[Any]) -> None:
    (tmp_path / "x.txt").write_text("x")
    for path, repository, match in (
        (saved, "me", "no name of a repository"),
        (tmp_path / "nowhere", "me/e", "no such file or folder"),
        (tmp_path / "x.txt", "me/e", "nothing here that can be sent"),
        (tmp_path, "me/e", "is no saved edit"),
    ):
        with pytest.raises(UserError, match=match):
            call(push_model, str(path), repository)
    with pytest.raises(UserError):
        call(push_results, str(tmp_path), "me/e", "--dry-run")
    assert not sent


def test_item_analysis_in_text_and_json_says_the_same(tmp_path: Path) -> None:
    methods = [{"name": "push", "label": f"push {n}", "params": {"strength": 0.2 * n}} for n in (1, 2, 3)]
    folder = read_report.finished(tmp_path, editors=methods, split=make_cases(6, 0))
    result = CliRunner().invoke(item_analysis, [str(folder), "--draws", "20"], catch_exceptions=False)
    assert result.exit_code == 0 and "S-ES, 6 cases in common, best first:" in result.stdout
    assert "S-NS, 6 cases in common" in result.stdout and "of 20 divisions" in result.stdout
    data = CliRunner().invoke(item_analysis, [str(folder), "--draws", "20", "--json"], catch_exceptions=False)
    s_es, s_ns = json.loads(data.stdout)
    assert (s_es["metric"], s_ns["metric"], s_es["cases"]) == ("s_es", "s_ns", 6)
    assert set(s_es["means"]) == {"push 1", "push 2", "push 3"}
    assert sum(s_es["items"]["passed_by"]) == s_es["items"]["items"] == 12
    assert f"no method passes {s_es['items']['passed_by'][0]}" in result.stdout


def test_tables_of_two_runs_and_the_same_in_json(tmp_path: Path) -> None:
    runs = [str(read_report.finished(tmp_path / name, metrics=["s_es", "s_es_gen"])) for name in ("one", "two")]
    result = CliRunner().invoke(table, [*runs, "--out", str(tmp_path / "t")], catch_exceptions=False)
    assert result.exit_code == 0 and result.stdout.count(".parquet: ") == 3
    data = CliRunner().invoke(table, [*runs, "--out", str(tmp_path / "u"), "--json"], catch_exceptions=False)
    (said,) = json.loads(data.stdout)
    counts = said["rows"]
    for name, rows in counts.items():
        assert duckdb.sql(f"SELECT count(*) FROM '{tmp_path}/u/{name}.parquet'").fetchall() == [(rows,)]
        assert f"{name}.parquet: {rows:,} rows" in result.stdout
    assert duckdb.sql(f"SELECT DISTINCT run FROM '{tmp_path}/t/answers.parquet' ORDER BY 1").fetchall() == [
        ("one",),
        ("two",),
    ]


@pytest.mark.parametrize(
    ("command", "arguments", "words"),
    [
        pytest.param(
            table, ["one", "--metrics", "ps"], "the run has no metric 'ps'", id="a metric that the run has not"
        ),
        pytest.param(table, ["one", "nowhere"], "not the folder of a run", id="no run"),
        pytest.param(view, ["one"], "no text was written", id="no text"),
        pytest.param(view, ["nowhere"], "not the folder of a run", id="no run to view"),
    ],
)
def test_what_is_refused_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Any, arguments: list[str], words: str
) -> None:
    read_report.finished(tmp_path / "one", metrics=["s_es"])
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(command, [*arguments, "--out", "t"])
    assert isinstance(result.exception, UserError) and words in str(result.exception) and not Path("t").exists()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    run, out = read_report.finished(tmp_path / "one", metrics=["s_es"]), tmp_path / "t"
    out.mkdir()
    (out / "mine.txt").write_text("x")
    result = CliRunner().invoke(table, [str(run), "--out", str(out)])
    assert result.exit_code != 0 and [p.name for p in out.iterdir()] == ["mine.txt"]


def test_a_page_and_its_size(tmp_path: Path) -> None:
    run, out = read_report.finished(tmp_path / "one", metrics=["es_gen"]), tmp_path / "a.html"
    result = CliRunner().invoke(view, [str(run), "--out", str(out), "--json"], catch_exceptions=False)
    assert json.loads(result.stdout) == [{"out": str(out), "bytes": len(out.read_bytes())}]
    assert "MB" in CliRunner().invoke(view, [str(run), "--out", str(tmp_path / "b.html")]).stdout
