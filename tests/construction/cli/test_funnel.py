"""The command that accounts for every fact."""

from __future__ import annotations

import json

from click.testing import CliRunner

from construction.cli.funnel import funnel
from construction.events.pipeline import EventJob, prepare_events
from construction.llm.endpoint import Access
from construction.pipeline.runner import ProgressDisplay
from construction.report.store_funnel import store_yield
from construction.report.text import text
from curation.store.store import Store
from tests.support.construction import funnels
from tests.support.construction.event_templates import sources
from tests.support.facts import make_fact

by_hand = funnels.by_hand
constructed = funnels.constructed


def test_the_command_prints_text_json_and_writes_the_page(constructed, tmp_path):
    path = str(constructed[0])
    result = CliRunner().invoke(funnel, ["--store", path, "--page", str(tmp_path / "y.html")])
    assert result.exit_code == 0, result.output
    assert "edited facts" in result.stdout and "ScEdit-CF, the paper" in result.stdout and "bob" in result.stdout
    assert all(line == line.rstrip("\n") for line in text(store_yield(constructed[0])))
    assert (tmp_path / "y.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    row = json.loads(CliRunner().invoke(funnel, ["--store", path, "--json"]).stdout)
    assert row["table"][0]["paper"] == [1830, 7342, 13672] and row["funnel"][0]["name"] == "edited facts"


def test_refusals(tmp_path, by_hand):
    with Store.open(tmp_path / "empty.duckdb", create=True) as store:
        store.put([make_fact()])
    for line, words in (
        (["--store", str(tmp_path / "empty.duckdb")], "there is no construction in the store"),
        (["--store", str(tmp_path / "none.duckdb")], "none.duckdb"),
        (["--store", str(by_hand), "--page", str(by_hand / "y.html")], "cannot be written"),
    ):
        result = CliRunner().invoke(funnel, line)
        assert result.exit_code == 1 and words in str(result.exception)


def test_events_have_a_funnel_of_their_own(tmp_path):
    store = str(tmp_path / "e.duckdb")
    silent = {"paraphrase": False, "inside": 0, "outside": 0, "access": Access()}
    job = EventJob(**sources(tmp_path), store=store, events=3, **silent)
    prepare_events(job).run(live=ProgressDisplay(0))
    outcome = CliRunner().invoke(funnel, ["--store", store])
    assert outcome.exit_code == 0 and "events of templates" in outcome.stdout and "draws" not in outcome.stdout
    assert json.loads(CliRunner().invoke(funnel, ["--store", store, "--json"]).stdout)["events"] == 3
    result = CliRunner().invoke(funnel, ["--store", store, "--page", str(tmp_path / "y.html")])
    assert result.exit_code == 1 and "there is no page of events" in str(result.exception)
