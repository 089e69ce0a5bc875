"""``annotate import``, ``agreement``, ``disagreements``, ``gold``, ``add-scripts``: what is told is what was found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import next_item
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.ratings import Rating
from tests.annotation_ui.cli.conftest import call
from tests.support.commands import json_value
from tests.support.filled_sheets import fill_sheet


def rated(db: Path, store: Path, values: dict[str, list[int]]) -> list[str]:
    """A campaign of Executability with an answer a person and item, in order of items; returns the items."""
    call("new", "p", "--task", "rate_executability", "-s", store, "-r", db, "--overlap", len(values))
    call("invite", *values, "-r", db)
    call("assign", "p", "-r", db)
    with RatingsDB(db) as ratings:
        items = sorted({a.item for a in ratings.assignments("p")})
        for person, reply in values.items():
            for item, value in zip(items, reply, strict=False):
                ratings.save("p", person, item, {"executability": value}, form="rate_executability@3", seconds=3)
    return items


def test_scripts_are_added_from_a_file(store_path: Path, tmp_path: Path) -> None:
    with Store.open(store_path) as db:
        from schemas.generated_scripts import GeneratedScript

        script = next(iter(db.all(GeneratedScript)))
    lines = tmp_path / "g.jsonl"
    lines.write_text(script.model_copy(update={"key": "generated/new", "editor": "ft"}).model_dump_json() + "\n")
    assert "1 script read, 1 new" in call("add-scripts", lines, "-s", store_path).output
    assert "1 script read, 0 new" in call("add-scripts", lines, "-s", store_path).output
    with Store.open(store_path) as db:
        (added,) = [s for s in db.all(GeneratedScript) if s.key == "generated/new"]
        assert db.lineage(added.id)[0].detail == {"from": "g.jsonl"}


@pytest.mark.parametrize(
    ("line", "message"),
    [("{", "line 1: not JSON"), ('{"key": "x"}', "line 1: case"), ("", "")],
)
def test_faulty_scripts_are_refused_by_line(store_path: Path, tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "g.jsonl"
    path.write_text(line)
    if not message:
        assert "0 scripts read" in call("add-scripts", path, "-s", store_path).output
        return
    with pytest.raises(UserError, match=message):
        call("add-scripts", path, "-s", store_path)


def test_refused_answers_are_told_and_the_status_says_so(db_path: Path, store_path: Path, tmp_path: Path) -> None:
    call("new", "p", "--task", "rate_executability", "-s", store_path, "-r", db_path, "--overlap", 1)
    call("invite", "ann", "-r", db_path)
    call("assign", "p", "-r", db_path)
    with RatingsDB(db_path) as ratings:
        first, second = ratings.assignments("p", "ann")[:2]
        ratings.save("p", "ann", first.item, {"executability": 9}, form="rate_executability@3")
        ratings.save("p", "ann", second.item, {"executability": 5}, form="rate_executability@3")
    report = tmp_path / "refused.jsonl"
    result = call("import", "p", "-r", db_path, "-s", store_path, "--report", report)
    assert result.exit_code == 1
    assert "1 answer, 1 record new in the store, 1 rejected" in result.output
    assert json.loads(report.read_text())["why"] == "'executability' is 9; allowed: 1 to 7"


def test_a_judge_in_the_store_is_compared_with_people(db_path: Path, store_path: Path) -> None:

    call("new", "p", "--task", "rate_executability", "-s", store_path, "-r", db_path, "--overlap", 2)
    call("invite", "ann", "bob", "-r", db_path)
    call("assign", "p", "-r", db_path)
    judgements = []
    with RatingsDB(db_path) as ratings:
        for person in ("ann", "bob"):
            for n, a in enumerate(sorted(ratings.assignments("p", person), key=lambda a: a.item)):
                value = n % 5 + 2
                ratings.save("p", person, a.item, {"executability": value}, form="rate_executability@3")
                rating = Rating(
                    key=f"rating/judge/{a.item}", item_id=a.item, aspect="executability", value=value - 1,
                    rater="judge:m", form="judge_executability@1",
                )  # fmt: skip
                judgements.append(rating)
    with Store.open(store_path, write=True) as ratings:
        ratings.put({r.key: r for r in judgements}.values())
    assert "judge:m" not in call("agreement", "p", "-r", db_path, "--resamples", 20).output
    output = call("agreement", "p", "-r", db_path, "-s", store_path, "--resamples", 20).output
    assert "judge:m against the mean of people: Spearman 1.000" in output
    assert "alpha 0.43 and Spearman 0.72" in output
    (aspect,) = json.loads(call("agreement", "p", "-r", db_path, "-s", store_path, "--resamples", 20, "--json").output)[
        "aspects"
    ]
    (pair,) = aspect["judges"]
    assert pair["difference"]["value"] == -1
    assert 0 < pair["alpha"]["value"] < 1


def test_import_as_json_says_the_same_and_repeats_nothing(db_path: Path, store_path: Path) -> None:
    rated(db_path, store_path, {"ann": [1, 2, 3]})
    result = call("import", "p", "-r", db_path, "-s", store_path, "--json")
    assert json_value(result.stdout) == {"answers": 3, "new": 3, "superseded": 0, "outdated": 0, "refused": []}
    assert result.exit_code == 0
    assert json.loads(call("import", "p", "-r", db_path, "-s", store_path, "--json").output)["new"] == 0
    with RatingsDB(db_path) as ratings:
        answer = ratings.current_answers("p")[0]
        ratings.save("p", "ann", answer.item, None, form=answer.form)
    assert "2 earlier or withdrawn answers left out" in call("import", "p", "-r", db_path, "-s", store_path).output


def test_the_report_of_an_import_that_refused_nothing_is_empty(db_path: Path, store_path: Path, tmp_path: Path) -> None:
    rated(db_path, store_path, {"ann": [1]})
    report = tmp_path / "refused.jsonl"
    line = ("import", "p", "-r", db_path, "-s", store_path, "--report", report)
    report.write_text("left over from before\n")
    with pytest.raises(UserError, match="refused.jsonl: a file stands here"):
        call(*line)
    assert report.read_text() == "left over from before\n"
    assert call(*line, "--force").exit_code == 0 and report.read_text() == ""
    assert call(*line).exit_code == 0, "its own list is replaced"


def test_disagreements_come_widest_first_and_limit_cuts_the_list_only(db_path: Path, store_path: Path) -> None:
    items = rated(db_path, store_path, {"ann": [1, 4, 4, 2], "bob": [7, 4, 5, 4]})
    rows = [json.loads(x) for x in call("disagreements", "p", "-r", db_path, "--jsonl").output.splitlines()]
    assert [(r["item"], round(r["spread"], 3)) for r in rows] == [
        (items[0], 1.0), (items[3], 0.333), (items[2], 0.167),
    ]  # fmt: skip
    assert rows[0]["said"] == {"ann": {"executability": 1}, "bob": {"executability": 7}}
    output = call("disagreements", "p", "-r", db_path, "--limit", 1).output.splitlines()
    assert items[0] in output[0] and "ann: executability 1" in output[0]
    assert len(output) == 2 and output[1].startswith("3 items")


def test_gold_holds_what_is_settled_and_can_be_trained_on(db_path: Path, store_path: Path, tmp_path: Path) -> None:
    items = rated(db_path, store_path, {"ann": [1, 4, 4], "bob": [7, 4, 5]})
    with RatingsDB(db_path) as ratings:
        call("invite", "lea", "--lead", "-r", db_path)
        ratings.adjudicate("p", items[0], "lea", {"executability": 6})
    out = tmp_path / "gold.jsonl"
    assert call("gold", "p", "-r", db_path, "--out", out).output.startswith("2 ")
    rows = {json.loads(x)["id"]: json.loads(x)["expected"] for x in out.read_text().splitlines()}
    assert rows == {f"gold-{items[0]}": {"executability": 6}, f"gold-{items[1]}": {"executability": 4}}
    result = call(
        "new", "next", "--task", "rate_executability", "-s", store_path, "-r", db_path, "--control-items", out, "--json"
    )
    assert json.loads(result.output)["items"] == 12, "the two of the gold set are trained on and not rated again"
    with RatingsDB(db_path) as ratings:
        real = {i for i, p in ratings.items("next").items() if p.purpose == "real"}
    assert len(real) == 10 and real.isdisjoint(items[:2])


def test_agreement_of_a_campaign_that_nobody_answered_says_so(db_path: Path, store_path: Path) -> None:
    rated(db_path, store_path, {"ann": []})
    result = call("agreement", "p", "-r", db_path)
    assert result.exit_code == 0 and "0 people (nobody yet)" in result.output
    assert json.loads(call("agreement", "p", "-r", db_path, "--json").output)["aspects"] == []


def test_programs_are_named_before_any_figure(db_path: Path, store_path: Path) -> None:
    call("invite", "synthetic-ann", "--synthetic", "-r", db_path)
    call("new", "p", "--task", "rate_executability", "-s", store_path, "-r", db_path, "--overlap", 1)
    call("assign", "p", "-r", db_path)
    with RatingsDB(db_path) as ratings:
        first = next_item(ratings, "p", "synthetic-ann")
        assert first is not None
        ratings.save("p", "synthetic-ann", first.item, {"executability": 3}, form="rate_executability@3")
    lines = call("agreement", "p", "-r", db_path, "--resamples", 20).output.splitlines()
    assert lines[1].startswith("Synthetic: synthetic-ann")


@pytest.mark.parametrize("words", [("import",), ("agreement",), ("disagreements",), ("gold", "--out", "x")])
def test_a_campaign_that_is_not_there_is_refused_with_those_that_are(
    db_path: Path, store_path: Path, words: tuple[str, ...]
) -> None:
    rated(db_path, store_path, {"ann": []})
    more = ("-s", store_path) if words[0] == "import" else ()
    with pytest.raises(UserError, match="no campaign 'q'; allowed: p"):
        call(words[0], "q", "-r", db_path, *words[1:], *more)


def test_sheets_out_and_in(db_path: Path, store_path: Path, tmp_path: Path) -> None:
    call("new", "p", "--task", "rate_executability", "-s", store_path, "-r", db_path, "--number", 3, "--overlap", 1)
    call("invite", "ann", "-r", db_path)
    call("assign", "p", "-r", db_path)
    sheets, path = ("sheets", "p", "-r", db_path, "--out", tmp_path / "sheets"), tmp_path / "sheets" / "ann.csv"
    assert json_value(call(*sheets, "--json").output)["sheets"] == {str(path): 3}
    fill_sheet(path, {"executability": "5"})
    with pytest.raises(UserError, match="may hold answers"):
        call(*sheets, "--force")
    output = call("import", "p", path, "-r", db_path, "-s", store_path).output
    assert "3 answers by ann, 3 of them new" in output and "3 answers, 3 records new in the store" in output
    again = json_value(call("import", "p", path, "-r", db_path, "-s", store_path, "--json").output)["sheets"][0]
    assert again == {"sheet": str(path), "person": "ann", "answers": 3, "new": 0, "repeated": 0, "missing": 0}
    assert "3 of     3  time not known" in call("status", "-r", db_path).output
    assert "Nobody has items left in 'p'." in call(*sheets).output
