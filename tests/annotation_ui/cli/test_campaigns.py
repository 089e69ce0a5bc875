"""The commands of ``annotate``: a whole round at the keyboard, and every refusal in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import next_item
from curation.store.store import Store
from schemas.core.errors import StoreError, UserError
from schemas.ratings import Rating
from tests.annotation_ui.cli.conftest import call


def test_a_round_at_the_keyboard(db_path: Path, store_path: Path, tmp_path: Path) -> None:
    result = call("new", "pilot", "--task", "rate_script", "-s", store_path, "-r", db_path, "--overlap", 2)
    assert "12 items, 12 of them new" in result.output
    rows = [json.loads(x) for x in call("invite", "ann", "bob", "-r", db_path, "--jsonl").output.splitlines()]
    assert [r["person"] for r in rows] == ["ann", "bob"] and all(len(r["secret"]) == 24 for r in rows)
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
