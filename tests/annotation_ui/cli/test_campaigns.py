"""The commands of ``annotate``: a whole round at the keyboard, and every refusal in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from annotation_ui.campaigns.campaign import next_item
from annotation_ui.cli.serve import command, environment
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from schemas.core.errors import UserError
from tests.support.commands import command as command_of


def call(*args: Any) -> Result:
    return CliRunner().invoke(command_of("annotate"), [str(a) for a in args], catch_exceptions=False)


@pytest.fixture
def files(store: Store, tmp_path: Path) -> tuple[Path, Path]:
    store.close()
    return tmp_path / "r.sqlite", tmp_path / "s.duckdb"


def test_a_round_at_the_keyboard(files: tuple[Path, Path], tmp_path: Path) -> None:
    db, store = files
    made = call("new", "pilot", "--task", "rate_script", "-s", store, "-r", db, "--overlap", 2)
    assert "12 items, 12 of them new" in made.output
    rows = [json.loads(x) for x in call("invite", "ann", "bob", "-r", db, "--jsonl").output.splitlines()]
    assert [r["person"] for r in rows] == ["ann", "bob"] and all(len(r["secret"]) == 24 for r in rows)
    assert "24 assignments added, 0 taken back" in call("share", "pilot", "-r", db).output
    with RatingsDB(db) as opened:
        for person in ("ann", "bob"):
            while (a := next_item(opened, "pilot", person)) is not None:
                n = sum(map(ord, a.item)) % 5 + (person == "bob")
                answers = {"coherence": 1 + n, "consistency": 7, "completeness": 2 + n}
                opened.save("pilot", person, a.item, answers, form="rate_script@2", seconds=3)
    assert "12 of    12  3 s an item" in call("status", "-r", db).output
    assert "24 answers, 72 records new" in call("import", "pilot", "-r", db, "-s", store).output
    assert "24 answers, 0 records new" in call("import", "pilot", "-r", db, "-s", store).output
    page = tmp_path / "a.html"
    said = call("agreement", "pilot", "-r", db, "--resamples", 50, "--page", page).output
    found = json.loads(call("agreement", "pilot", "-r", db, "--resamples", 50, "--json").output)
    alpha = found["aspects"][0]["agreement"]["alpha"]
    shown = f"{alpha['value']:.3f} [{alpha['low']:.3f}, {alpha['high']:.3f}]"
    assert shown in said
    assert shown in page.read_text()
    assert "ScEdit Table 5: 0.35" in said
    assert "12 items with a disagreement" in call("disagreements", "pilot", "-r", db).output
    assert "0 settled items" in call("gold", "pilot", "-r", db, "--out", tmp_path / "g.jsonl").output
    assert "12 answers of 'ann' deleted" in call("forget", "ann", "-r", db, "--yes").output


def test_tasks_are_listed() -> None:
    rows = [json.loads(x) for x in call("tasks", "--jsonl").output.splitlines()]
    assert [r["task"] for r in rows] == [
        "filter_question", "verify_leak", "quality", "rate_executability", "rate_script",
    ]  # fmt: skip
    assert "rate_script@2" in call("tasks").output


def test_scripts_are_added_from_a_file(files: tuple[Path, Path], tmp_path: Path) -> None:
    _, store = files
    with Store.open(store) as opened:
        from schemas.generated_scripts import GeneratedScript

        script = next(iter(opened.all(GeneratedScript)))
    lines = tmp_path / "g.jsonl"
    lines.write_text(script.model_copy(update={"key": "generated/new", "editor": "ft"}).model_dump_json() + "\n")
    assert "1 scripts read, 1 new" in call("add-scripts", lines, "-s", store).output
    assert "1 scripts read, 0 new" in call("add-scripts", lines, "-s", store).output


@pytest.mark.parametrize(
    ("line", "message"),
    [("{", "line 1: not JSON"), ('{"key": "x"}', "line 1: case"), ("", "")],
)
def test_faulty_scripts_are_refused_by_line(files: tuple[Path, Path], tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "g.jsonl"
    path.write_text(line)
    if not message:
        assert "0 scripts read" in call("add-scripts", path, "-s", files[1]).output
        return
    with pytest.raises(UserError, match=message):
        call("add-scripts", path, "-s", files[1])


def test_refused_answers_are_told_and_the_status_says_so(files: tuple[Path, Path], tmp_path: Path) -> None:
    db, store = files
    call("new", "p", "--task", "rate_executability", "-s", store, "-r", db, "--overlap", 1)
    call("invite", "ann", "-r", db)
    call("share", "p", "-r", db)
    with RatingsDB(db) as opened:
        first, second = opened.assignments("p", "ann")[:2]
        opened.save("p", "ann", first.item, {"executability": 9}, form="rate_executability@1")
        opened.save("p", "ann", second.item, {"executability": 5}, form="rate_executability@1")
    report = tmp_path / "refused.jsonl"
    got = call("import", "p", "-r", db, "-s", store, "--report", report)
    assert got.exit_code == 1
    assert "1 answers, 1 records new in the store, 1 rejected" in got.output
    assert json.loads(report.read_text())["why"] == "'executability' is 9; allowed: 1 to 7"


def test_the_app_listens_on_this_machine_unless_told(files: tuple[Path, Path]) -> None:
    with pytest.raises(UserError, match="add --allow-network"):
        call("serve", "-r", files[0], "--host", "0.0.0.0")
    with pytest.raises(UserError, match="no such ratings file"):
        call("serve", "-r", files[0].with_name("none"))
    words = command(files[0], files[1], host="127.0.0.1", port=8501)
    assert "--server.address=127.0.0.1" in words and "--browser.gatherUsageStats=false" in words
    assert "PYTHONPATH" in environment()


def test_label_studio_needs_a_server(files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LABEL_STUDIO_URL", raising=False)
    with pytest.raises(UserError, match="no Label Studio was started here"):
        call("label-studio", "push", "p", "-r", files[0], "--folder", tmp_path / "ls")
    monkeypatch.setenv("LABEL_STUDIO_URL", "http://127.0.0.1:9")
    monkeypatch.delenv("LABEL_STUDIO_API_KEY", raising=False)
    with pytest.raises(UserError, match="LABEL_STUDIO_API_KEY is not"):
        call("label-studio", "push", "p", "-r", files[0])
    monkeypatch.setenv("SCEDIT_LABEL_STUDIO", str(tmp_path / "none"))
    with pytest.raises(UserError, match="make label-studio"):
        call("label-studio", "up", "--folder", tmp_path / "ls")
    assert "No server of" in call("label-studio", "down", "--folder", tmp_path / "ls").output


def test_a_judge_in_the_store_is_compared_with_people(files: tuple[Path, Path]) -> None:
    from schemas.ratings import Rating

    db, store = files
    call("new", "p", "--task", "rate_executability", "-s", store, "-r", db, "--overlap", 2)
    call("invite", "ann", "bob", "-r", db)
    call("share", "p", "-r", db)
    judged = []
    with RatingsDB(db) as opened:
        for person in ("ann", "bob"):
            for n, a in enumerate(sorted(opened.assignments("p", person), key=lambda a: a.item)):
                value = n % 5 + 2
                opened.save("p", person, a.item, {"executability": value}, form="rate_executability@1")
                rating = Rating(
                    key=f"rating/judge/{a.item}", item_id=a.item, aspect="executability", value=value - 1,
                    rater="judge:m", form="judge_executability@1",
                )  # fmt: skip
                judged.append(rating)
    with Store.open(store, write=True) as opened:
        opened.put({r.key: r for r in judged}.values())
    assert "judge:m" not in call("agreement", "p", "-r", db, "--resamples", 20).output
    said = call("agreement", "p", "-r", db, "-s", store, "--resamples", 20).output
    assert "judge:m against the mean of people: Spearman 1.000" in said
    assert "alpha 0.43 and Spearman 0.72" in said
    (aspect,) = json.loads(call("agreement", "p", "-r", db, "-s", store, "--resamples", 20, "--json").output)["aspects"]
    (pair,) = aspect["judges"]
    assert pair["difference"]["value"] == -1
    assert 0 < pair["alpha"]["value"] < 1
