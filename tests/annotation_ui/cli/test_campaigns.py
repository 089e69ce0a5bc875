"""The commands of ``annotate``: rounds at the keyboard and with a crowd, the server that is started, every refusal."""

from __future__ import annotations

import csv
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from annotation_ui.child_environment import child_environment
from annotation_ui.cli.serve import command
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import next_item
from annotation_ui.ratings.raters import list_raters, log_in_by_link
from curation.store.store import Store
from schemas.core.errors import MissingPackage, StoreError, UserError
from schemas.ratings import Rating
from tests.annotation_ui.cli.conftest import call


def test_a_round_at_the_keyboard(db_path: Path, store_path: Path, tmp_path: Path) -> None:
    result = call("new", "pilot", "--task", "rate_script", "-s", store_path, "-r", db_path, "--overlap", 2)
    assert "12 items, 12 of them new" in result.output
    rows = [json.loads(x) for x in call("invite", "ann", "bob", "-r", db_path, "--jsonl").output.splitlines()]
    assert [r["person"] for r in rows] == ["ann", "bob"] and all(len(r["secret"]) == 24 for r in rows)
    assert "so an earlier secret ends: bob." in call("invite", "bob", "-r", db_path).stderr
    assert "24 assignments added, 0 taken back" in call("assign", "pilot", "-r", db_path).output
    assert "ann                      0 of    12  not started" in call("status", "-r", db_path).output
    with RatingsDB(db_path) as ratings:
        for person in ("ann", "bob"):
            while (a := next_item(ratings, "pilot", person)) is not None:
                n = sum(map(ord, a.item)) % 5 + (person == "bob")
                answers = {"coherence": 1 + n, "consistency": 7, "completeness": 2 + n}
                ratings.save("pilot", person, a.item, answers, form="rate_script@4", seconds=3)
    assert "12 of    12  3 s an item" in call("status", "-r", db_path).output
    assert "24 answers, 72 records new" in call("import", "pilot", "-r", db_path, "-s", store_path).output
    assert "24 answers, 0 records new" in call("import", "pilot", "-r", db_path, "-s", store_path).output
    page = tmp_path / "a.html"
    output = call("agreement", "pilot", "-r", db_path, "--resamples", 50, "--page", page).output
    data = json.loads(call("agreement", "pilot", "-r", db_path, "--resamples", 50, "--json").output)
    alpha = data["aspects"][0]["agreement"]["alpha"]
    text = f"{alpha['value']:.3f} [{alpha['low']:.3f}, {alpha['high']:.3f}]"
    assert text in output
    assert text in page.read_text()
    assert "ScEdit Table 5" in output and "  0.35\n" in output
    assert "12 items with a disagreement" in call("disagreements", "pilot", "-r", db_path).output
    assert "0 settled items" in call("gold", "pilot", "-r", db_path, "--out", tmp_path / "g.jsonl").output
    assert b"person:ann" in store_path.read_bytes()
    with pytest.raises(StoreError, match=r"none\.duckdb"):
        call("forget", "ann", "-r", db_path, "-s", tmp_path / "none.duckdb", "--yes")
    forgotten = call("forget", "ann", "-r", db_path, "-s", store_path, "--yes").output
    assert "12 answers of 'ann' deleted" in forgotten and "36 verdicts and ratings deleted" in forgotten
    with Store.open(store_path) as kept:
        assert {r.rater for r in kept.all(Rating)} == {"person:bob"}
    assert b"person:ann" not in store_path.read_bytes() and b"person:bob" in store_path.read_bytes()
    assert "run this again with --store" in call("forget", "bob", "-r", db_path, "--yes").output
    later = call("forget", "bob", "-r", db_path, "-s", store_path, "--yes").output
    assert "0 answers of 'bob'" in later and "36 verdicts and ratings deleted" in later, "the advice works"
    with pytest.raises(UserError, match="no person 'bob'"):
        call("forget", "bob", "-r", db_path, "-s", store_path, "--yes")


def test_tasks_are_listed() -> None:
    rows = [json.loads(x) for x in call("tasks", "--jsonl").output.splitlines()]
    assert [r["task"] for r in rows] == [
        "screen_question", "filter_question", "verify_leak", "quality", "rate_executability", "rate_script",
        "compare_executability", "compare_scripts", "answer_tendency", "judge_tendency", "review_scope",
        "review_paraphrase", "rate_answer", "rate_answer_pair", "curate_probe", "review_level",
    ]  # fmt: skip
    assert "rate_script@4" in call("tasks").output


def test_a_number_a_group_and_a_size_that_is_kept(db_path: Path, store_path: Path) -> None:

    def new(name: str, task: str, *more: object) -> dict[str, object]:
        output = call("new", name, "--task", task, "-s", store_path, "-r", db_path, "--json", *more).output
        data: dict[str, object] = json.loads(output)
        return data

    assert new("exec", "rate_executability", "--group", "g", "--number", 5)["items"] == 5
    assert new("rest", "rate_script", "--group", "g")["items"] == 5
    assert new("exec", "rate_executability")["new"] == 0, "neither size nor group is forgotten"
    with pytest.raises(UserError, match="a sample neither grows nor shrinks"):
        new("exec", "rate_executability", "--number", 7)
    both = call("new", "x", "--task", "rate_script", "-s", store_path, "-r", db_path, "--number", 5, "--percent", 50)
    assert both.exit_code == 2 and "give one of them" in both.output


URL = "https://app.prolific.com/submissions/complete?cc=C1ABCD"


def test_a_round_with_a_crowd(db_path: Path, store_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "links.csv"
    codes = ("--completion-code", "C1ABCD", "--completion-url", URL)
    call("new", "pilot", "--task", "rate_executability", "-s", store_path, "-r", db_path, "--overlap", 1, *codes)
    call("links", "p01", "p02", "-r", db_path, "--app-url", "https://rate.example.org", "--out", out)
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [r["person"] for r in rows] == ["p01", "p02"] and stat.S_IMODE(out.stat().st_mode) == 0o600
    call("assign", "pilot", "-r", db_path)
    with RatingsDB(db_path) as ratings:
        settings = ratings.campaign("pilot").settings
        assert (settings["completion_code"], settings["completion_url"]) == ("C1ABCD", URL)
        parameters = {k: v[0] for k, v in parse_qs(urlsplit(rows[0]["link"]).query).items()}
        assert log_in_by_link(ratings, {**parameters, "PROLIFIC_PID": "5f1"}).token
        while (a := next_item(ratings, "pilot", "p01")) is not None:
            ratings.save("pilot", "p01", a.item, {"executability": 3}, form="rate_executability@3", seconds=30)
    one, other = (json.loads(x) for x in call("participants", "pilot", "-r", db_path, "--jsonl").output.splitlines())
    assert one["identity"] == {"PROLIFIC_PID": "5f1"} and one["finished"] and one["minutes"] == 3.0
    assert set(one["seconds_by_item"].values()) == {30.0} and not other["finished"] and other["identity"] == {}
    assert "PROLIFIC_PID=5f1" in call("participants", "pilot", "-r", db_path).output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--completion-url", "http://x.org/"), "begins with https"),
        (("--completion-url", "javascript:alert(1)"), "begins with https"),
        (("--completion-url", "https://x.org/ a"), "begins with https"),
        (("--completion-code", "a b"), "1 to 64 letters"),
        (("--completion-code", "x" * 65), "1 to 64 letters"),
        (("--completion-code", "Ｃ１"), "1 to 64 letters"),
        (("--completion-code", "<b>"), "1 to 64 letters"),
        (("--completion-code", "C1\n"), "1 to 64 letters"),
        (("--completion-url", "https://["), "begins with https"),
        (("--completion-url", "https://bank.example@evil.example/"), "begins with https"),
        (("--completion-url", "https://x.org/" + "a" * 3000), "begins with https"),
    ],
)
def test_codes_and_addresses_that_are_none_are_refused(
    db_path: Path, store_path: Path, words: tuple[str, str], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        call("new", "pilot", "--task", "rate_executability", "-s", store_path, "-r", db_path, *words)


def test_links_are_made_for_all_or_for_nobody(db_path: Path, tmp_path: Path) -> None:
    out = tmp_path / "links.csv"
    call("invite", "lea", "--lead", "-r", db_path)
    for bad in ("lea", "synthetic-x", "a b"):
        with pytest.raises(UserError, match=bad):
            call("links", "p01", bad, "-r", db_path, "--app-url", "https://rate.example.org", "--out", out)
    with RatingsDB(db_path) as ratings:
        assert [p.name for p in list_raters(ratings)] == ["lea"] and not out.exists()


def test_a_ratings_file_that_is_not_there_is_told(db_path: Path) -> None:
    with pytest.raises(UserError, match="no such ratings file"):
        call("serve", "-r", db_path.with_name("none"))
    RatingsDB(db_path, create=True).close()
    with pytest.raises(StoreError, match="none.duckdb: there is no such store"):
        call("serve", "-r", db_path, "--store", db_path.with_name("none.duckdb"))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The processes that would be started, without starting them."""
    calls: list[dict[str, Any]] = []

    def run(words: list[str], env: dict[str, str]) -> int:
        calls.append({"words": words, "env": env})
        return 3

    monkeypatch.setattr("annotation_ui.cli.serve.subprocess.call", run)
    return calls


def test_the_app_gets_absolute_paths_and_its_status_is_ours(
    db_path: Path, store_path: Path, started: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    RatingsDB(db_path, create=True).close()
    monkeypatch.chdir(db_path.parent)
    result = call("serve", "-r", db_path.name, "--store", store_path.name, "--port", 8765)
    assert result.exit_code == 3
    assert "http://127.0.0.1:8765" in result.stderr and result.stdout == ""
    ((words, _),) = [c.values() for c in started]
    assert words[4:] == [str(db_path.absolute()), str(store_path.absolute())]
    options = json.loads(words[3])
    assert (options["server.port"], options["server.address"]) == (8765, "127.0.0.1")


def test_nothing_is_sent_anywhere_and_errors_show_no_code(db_path: Path) -> None:
    options = json.loads(command(db_path, None, host="127.0.0.1", port=1)[3])
    assert options["browser.gatherUsageStats"] is False and options["server.enableXsrfProtection"] is True
    assert (options["client.showErrorDetails"], options["client.toolbarMode"]) == ("none", "minimal")
    assert options["server.headless"] is True


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_this_machine_needs_no_permission(db_path: Path, started: list[dict[str, Any]], host: str) -> None:
    RatingsDB(db_path, create=True).close()
    call("serve", "-r", db_path, "--host", host)
    assert json.loads(started[0]["words"][3])["server.address"] == host


def test_another_address_is_served_when_it_is_meant(db_path: Path, started: list[dict[str, Any]]) -> None:
    RatingsDB(db_path, create=True).close()
    for host in ("0.0.0.0", "192.168.1.5", "::"):
        with pytest.raises(UserError, match="can be reached by other machines"):
            call("serve", "-r", db_path, "--host", host)
    assert started == []
    call("serve", "-r", db_path, "--host", "0.0.0.0", "--allow-network")
    assert len(started) == 1


def test_a_missing_streamlit_is_named_before_anything_starts(
    db_path: Path, started: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    RatingsDB(db_path, create=True).close()
    monkeypatch.setattr("annotation_ui.cli.serve.importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match="streamlit"):
        call("serve", "-r", db_path)
    assert started == []


SECRETS = {
    "OPENAI_API_KEY": "sk-1", "AWS_SECRET_ACCESS_KEY": "s", "HF_TOKEN": "h", "LABEL_STUDIO_API_KEY": "l",
    "GITHUB_TOKEN": "g", "STREAMLIT_SERVER_COOKIE_SECRET": "c", "DATABASE_URL": "postgres://me:pw@x",
}  # fmt: skip


@pytest.fixture
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("_secrets")
def test_the_rating_app_gets_no_secret_and_still_runs() -> None:
    env = child_environment("STREAMLIT_")
    assert not set(SECRETS) & set(env) and not set(SECRETS.values()) & set(env.values())
    process = subprocess.run([sys.executable, "-c", "import annotation_ui"], env=env, cwd="/", capture_output=True)
    assert process.returncode == 0, process.stderr


def test_locale_and_path_are_passed_on_and_our_packages_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {"LC_ALL": "C.UTF-8", "PATH": "p", "lc_all": "x", "FOO_A": "1", "FOO_PASSWORD": "2", "BAR": "3"}
    monkeypatch.setattr(os, "environ", variables)
    assert set(child_environment()) == {"LC_ALL", "PATH", "PYTHONPATH"}
    assert set(child_environment("FOO_")) == {"LC_ALL", "PATH", "FOO_A", "PYTHONPATH"}
    ours = child_environment()["PYTHONPATH"]
    assert (Path(ours) / "annotation_ui").is_dir(), "an empty entry would be the working folder"
    variables["PYTHONPATH"] = "/elsewhere"
    assert child_environment()["PYTHONPATH"] == f"{ours}{os.pathsep}/elsewhere"
