"""Links as a file, codes and addresses of a campaign, and the list of participants."""

from __future__ import annotations

import csv
import json
import stat
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import next_item
from annotation_ui.ratings.raters import list_raters, log_in_by_link
from schemas.core.errors import UserError
from tests.annotation_ui.cli.conftest import call

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
