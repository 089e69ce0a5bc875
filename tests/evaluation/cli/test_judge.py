from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from annotation_ui.tasks.generated_scripts import read_scripts
from curation.store.store import Store
from evaluation.cli.judge import judge as command
from evaluation.judge.inputs import script_inputs
from evaluation.judge.judging import control_items
from evaluation.judge.ratings import rated_scripts
from evaluation.runs.results import Run, load_run
from scedit.commands import cli
from schemas.core.errors import UserError
from schemas.generated_scripts import GeneratedScript
from schemas.ratings import SCRIPT, Rating
from tests.support.arithmetic import go
from tests.support.facts import make_fact
from tests.support.judge import aspect_of, by_rubric, fill_store, make_script
from tests.support.scripted_server import Batches, Raw, ScriptedServer
from tests.support.small import small_split

ASPECTS = SCRIPT.aspects


CONTROL_CALLS = sum(len(c.accepted) for c in control_items() if c.rubric == "script")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "s.duckdb"


def call(store: Path, *args: str, server: ScriptedServer | None = None):
    line = [str(store), "--api-key-env", "SCEDIT_NO_KEY", *args]
    if server is not None:
        line += ["--base-url", server.url]
        line += [] if "--model" in args else ["--model", "gpt-x"]
    return CliRunner().invoke(command, line)


def data(result):
    assert result.exit_code == 0, (result.output, result.exception)
    return json.loads(result.stdout)


def test_judging_a_store_resuming_and_reading_it_back(store):
    scripts = fill_store(store, facts=4, editors=("none", "rome"))
    with ScriptedServer(by_rubric) as server:
        price_estimate = data(call(store, "--dry-run", "--retest", "0", "--json", server=server))
        assert (
            price_estimate["calls"] == 8 * 4 + CONTROL_CALLS and not server.requests and price_estimate["cost"] is None
        )
        report = data(call(store, "--retest", "0", "--json", server=server))
        count = len(server.requests)
        repeat = data(call(store, "--retest", "0", "--json", server=server))
        assert len(server.requests) == count, "the journal answers"
    outcome = report["outcome"]
    assert (outcome["rater"], outcome["ratings"], outcome["new"], outcome["unscored"]) == ("judge:gpt-x", 32, 32, 0)
    assert count >= 32 and repeat["outcome"]["new"] == 0 and repeat["outcome"]["calls"] == 0
    assert outcome["control_items"]["asked"] == CONTROL_CALLS
    rulings = {(r["rater"], r["aspect"]): (r["ruled"], r["agreed"]) for r in report["rubric"]["by"]}
    assert rulings == {("judge:gpt-x", "coherence"): (6, 6), ("judge:gpt-x", "consistency"): (6, 6)}
    assert report["rubric"]["disagreements"] == []
    cells = {(c["editor"], c["aspect"]): c for c in report["cells"]}
    assert len(cells) == 8 and cells["rome", "coherence"]["scripts"] == 4
    assert cells["rome", "coherence"]["mean"] == pytest.approx((1 + 2 + 3 + 6) / 4)
    with Store.open(store) as db:
        ratings = list(db.all(Rating))
        assert len(ratings) == 32 and {r.rater for r in ratings} == {"judge:gpt-x"}
        assert {r.item_id for r in ratings} == {s.id for s in scripts}
        (line,) = db.lineage(ratings[0].id)
        assert (line.stage, line.model, line.parents) == ("judge", "gpt-x", (ratings[0].item_id,))
        assert line.endpoint and line.request and line.detail["samples"] == [ratings[0].value]


def test_the_judge_is_blind_to_the_method(tmp_path):
    """The same text under two methods is one call, and nothing of the method is ever sent."""
    store, fact = tmp_path / "s.duckdb", make_fact("Xland", "Lima", "Oslo", key="fact/x")
    fill_store(store, facts=1, editors=("alpha-method",))
    with Store.open(store, write=True) as db:
        twin = make_script(fact, "beta-method", ("Book a flight to Oslo", "Walk to the ministry"))
        judge_input = next(iter(script_inputs(db)))
        db.put(
            [
                twin.model_copy(
                    update={
                        "case": judge_input.case,
                        "fact": judge_input.fact.key,
                        "question": f"{judge_input.fact.key}/q1",
                    }
                )
            ]
        )
    with ScriptedServer(by_rubric) as server:
        report = data(call(store, "--retest", "0", "--no-control-items", "--json", server=server))
        payload = json.dumps(server.requests)
    assert report["outcome"]["ratings"] == 8 and len(server.requests) == 4
    assert "alpha-method" not in payload and "beta-method" not in payload and "gpt2-xl" not in payload


def test_two_judges_and_their_agreement(store):
    fill_store(store, facts=4)
    options = ("--no-control-items", "--retest", "1", "--aspect", "coherence", "--json")
    with ScriptedServer(by_rubric) as server:
        data(call(store, *options, "--model", "gpt-x", server=server))
    with ScriptedServer(lambda p: '{"rating": 4, "reason": "always"}') as server:
        report = data(call(store, *options, "--model", "claude-x", server=server))
    assert report["agreement"]["coherence"]["raters"] == 2
    cells = {(c["rater"], c["editor"]): c["mean"] for c in report["cells"]}
    assert cells["judge:claude-x", "rome"] == 4
    trust = {t["rater"]: t for t in report["trust"]}
    assert trust["judge:gpt-x"]["retest"] == {"n": 8, "same": 8, "near": 8, "apart": 0.0, "lost": 0}
    assert trust["judge:claude-x"]["length"]["reason"], "a constant has no correlation, and says so"
    disagreements = report["rubric"]["disagreements"]
    assert {d["rater"] for d in disagreements} == {"judge:claude-x"} and len(disagreements) == 6
    assert any("gpt-x judges scripts of gpt2-xl, both of OpenAI" in f for f in report["flags"])
    assert not any("claude" in f for f in report["flags"])


def test_a_judge_of_smoke_test_quality_is_called_so(store):
    fill_store(store, facts=1, editors=("rome",))
    options = ("--profile", "embedded", "--no-control-items", "--retest", "0", "--aspect", "coherence")
    with ScriptedServer(lambda p: '{"rating": 4}') as server:
        text = call(store, *options, server=server).stdout
        assert [r["max_tokens"] for r in server.requests] == [12] and "seed" in server.requests[0]
    assert (
        "the ratings of judge:gpt-x+embedded are of smoke-test quality: they only show that the pipeline runs" in text
    )


def test_through_the_batch_api(store):
    fill_store(store, facts=2, editors=("rome",))
    with ScriptedServer(by_rubric, batches=Batches()) as server:
        options = ("--batch", "--batch-poll", "0.05", "--no-control-items", "--retest", "0", "--json")
        report = data(call(store, *options, server=server))
        assert server.requests == [] and sum(map(len, server.batches.submitted)) == 8
    assert report["outcome"]["ratings"] == 8 and report["outcome"]["unscored"] == 0


def test_a_budget_stops_the_judge_and_it_goes_on(store):
    fill_store(store, facts=2, editors=("rome",))
    with ScriptedServer(by_rubric) as server:
        result = call(store, "--no-control-items", "--max-tokens", "3500", "--concurrency", "1", server=server)
        assert isinstance(result.exception, UserError) and "budget" in str(result.exception)
        count = len(server.requests)
        report = data(call(store, "--no-control-items", "--retest", "0", "--json", server=server))
        assert report["outcome"]["ratings"] == 8
        assert count <= len(server.requests) <= 9


def test_an_endpoint_that_fails_leaves_ratings_due(store):
    fill_store(store, facts=2, editors=("rome",))
    bad = [True]

    def answer(payload):
        if bad[0] and aspect_of(payload) == "completeness" and "Land1" in json.dumps(payload):
            return Raw(400, {"error": {"message": "context length"}})
        return by_rubric(payload)

    options = ("--no-control-items", "--retest", "0", "--json", "--concurrency", "1")
    with ScriptedServer(answer) as server:
        report = data(call(store, *options, server=server))
        assert report["outcome"]["unscored"] == 1 and "permanent" in json.dumps(report["unscored"])
        bad[0] = False
        retry = data(call(store, *options, "--retry-failed", server=server))
    assert retry["outcome"]["unscored"] == 0 and retry["unscored"] == {}


def test_refusals_of_the_edited_model_are_counted(store):
    fill_store(store, facts=1, editors=("rome",))
    with Store.open(store, write=True) as db:
        script = make_script(
            make_fact("Land0", "Lima", "Oslo", key="fact/land0"), "memit", (), text="I cannot.", refused=True
        )
        db.put([script])
    with ScriptedServer(by_rubric) as server:
        report = data(call(store, "--no-control-items", "--retest", "0", "--json", server=server))
        assert len(server.requests) == 4
    assert report["outcome"]["unscored"] == 4
    memit = [c for c in report["cells"] if c["editor"] == "memit"]
    assert all(c["mean"] is None and (c["worst"], c["best"]) == (1.0, 7.0) for c in memit)
    assert list(report["unscored"]["judge:gpt-x"]) == ["not asked: the model declined to answer"]


def test_refusals_of_the_command(tmp_path, store):
    fill_store(store, facts=1)
    wrong = call(store, "--editors", "rme", "--show-only")
    assert "did you mean 'rome'" in str(wrong.exception) and isinstance(wrong.exception, UserError)
    with Store.open(tmp_path / "empty.duckdb", create=True):
        pass
    assert "no generated scripts" in str(call(tmp_path / "empty.duckdb", "--show-only").exception)
    assert "not the folder of a run" in str(call(tmp_path, "--show-only").exception)
    assert call(store, "--samples", "0").exit_code == 2 and call(store, "--help").exit_code == 0


def test_a_run_folder_is_judged_through_a_store(tmp_path):
    """A run that fed no store: its scripts get one in the run's folder; judging again adds nothing."""
    run = tmp_path / "run"
    go(run, split=small_split(), metrics=["es", "script_format"], limit=2, kinds=["counterfactual"])
    with ScriptedServer(by_rubric) as server:
        options = ("--no-control-items", "--retest", "0", "--json")
        report = data(call(run, *options, server=server))
        repeat = data(call(run, *options, server=server))
    assert report["outcome"]["ratings"] == 2 * 2 * 4 * 4, "two methods, two cases, four questions, four aspects"
    assert repeat["outcome"]["new"] == 0 and (run / "scripts.duckdb").exists()
    assert {c["editor"] for c in report["cells"]} == {"none", "push"}
    (run / "other").mkdir()
    assert "not the folder of a run" in str(call(run / "other", "--show-only").exception)
    go(tmp_path / "plain", split=small_split(), metrics=["es"], limit=2)
    assert "no scripts were written" in str(call(tmp_path / "plain", "--show-only").exception)
    assert not (tmp_path / "plain" / "scripts.duckdb").exists()


@pytest.mark.slow
@pytest.mark.model
def test_the_embedded_model_judges(store):
    pytest.importorskip("xllamacpp", reason="xllamacpp is not installed")
    fill_store(store, facts=1, editors=("rome",))
    report = data(CliRunner().invoke(command, [str(store), "--no-control-items", "--retest", "0", "--json"]))
    assert report["outcome"]["ratings"] == 4 and report["outcome"]["rater"].endswith("+embedded")
    with Store.open(store) as db:
        assert all(g.detail["quality"] == "plumbing" for g in rated_scripts(db) if g.rating.value is not None)
    assert len(ASPECTS) == 4


@pytest.fixture
def run(tmp_path: Path) -> Run:
    go(tmp_path / "run", split=small_split(), metrics=["s_es_gen_question"], limit=3)
    return load_run(tmp_path / "run")


def test_command(run: Run, store: Path) -> None:
    with Store.open(store, write=True, create=True) as db:
        for case in small_split().cases:
            db.put([case.fact, *case.questions])
    result = CliRunner().invoke(cli, ["results", "extract-scripts", str(run.folder), "--store", str(store), "--jsonl"])
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in result.output.splitlines()]
    assert [(t["editor"], t["scripts"], t["refused"]) for t in rows] == [("none", 12, 0), ("push", 12, 0)]
    with Store.open(store) as db:
        scripts = list(db.all(GeneratedScript))
        (line,) = db.lineage(scripts[0].id)
    assert {s.id for s in scripts} == {s.id for s in read_scripts(run.folder / "scripts.jsonl")}
    assert line.stage == "generate" and line.detail["ended"] == "eos" and line.detail["max_tokens"] == 256


def test_a_store_without_the_split_is_refused(run: Run, store: Path) -> None:
    with Store.open(store, write=True, create=True):
        pass
    result = CliRunner().invoke(cli, ["results", "extract-scripts", str(run.folder), "--store", str(store)])
    assert result.exit_code != 0
    assert "the store lacks what the scripts belong to" in str(result.exception or result.output)
