"""Sheets to people and back: read strictly, and never written over."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from curation.quality.sample import CRITERIA, Sample, allocate, draw, keep_sample, sample_named, samples, sheet
from curation.quality.sheets import (
    answers,
    check_people,
    import_sheets,
    read_sheet,
    report,
    sheet_path,
    slug_ok,
    summary,
    text,
    write_sheet,
)
from curation.store.store import Store
from schemas.core.errors import DataError, UserError
from tests.support.curation.filled_sheets import MINI, answered, blank
from tests.support.curation.verdicts import make_verdict

FAULTS: list[tuple[str, Callable[[list[dict[str, Any]]], object], str]] = [
    ("a no without a reason", lambda r: r[0].update(cut="no"), "line 3: the no to 'cut' has no reason"),
    ("half answered", lambda r: r[1].update(cut=""), r"line 4: no answer to 'cut' \(yes or no\)"),
    ("neither yes nor no", lambda r: r[1].update(cut="maybe"), "line 4: 'maybe' is no answer to 'cut'"),
    (
        "another item",
        lambda r: r[2].update(item="f" * 20),
        r"line 5: 'f+' is no item of the sample .*\(and 1 more fault\)",
    ),
    ("another sample", lambda r: r[2].update(sample="x"), "line 5: .* is no item of the sample"),
    ("somebody not asked", lambda r: [x.update(person="eve") for x in r], r"'eve' was not asked \(ann, bob\)"),
    ("two people", lambda r: r[0].update(person="bob"), "one sheet is of one person"),
    ("a row is gone", lambda r: r.pop(), "1 of .* items have no answer; .*--partial"),
    ("a row is empty", blank, "1 of .* items have no answer"),
]


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_round_trip(store: Store, sample: Sample, tmp_path: Path, form: str) -> None:
    odd = sample.items[0].item_id
    path = sheet_path(tmp_path, "ann", form)
    write_sheet(answered(sample, "ann", lambda i: "cut" if i == odd else ""), path)
    (filling,) = import_sheets(store, [path])
    assert (filling.person, filling.repeated, filling.missing) == ("ann", (), ())
    by = {v.by: v for v in store.verdicts([odd])}
    verdict, cut = by["person:ann/quality@1"], by["person:ann/quality_cut@1"]
    assert (verdict.label, verdict.reason) == ("drop", "cut: it is odd") and (cut.label, cut.value) == (None, 0.0)
    assert by["person:ann/quality_question@1"].value == 1.0
    assert store.lineage(verdict.id)[0].detail == {"from": path.name}
    assert len(filling.verdicts) == 4 * len(sample.items)


@pytest.mark.parametrize(("break_it", "message"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
def test_import_is_strict(
    store: Store, sample: Sample, tmp_path: Path, break_it: Callable[[list[dict[str, Any]]], object], message: str
) -> None:
    good, bad = answered(sample, "bob"), answered(sample, "ann")
    break_it(bad)
    write_sheet(good, tmp_path / "bob.jsonl")
    write_sheet(bad, tmp_path / "ann.jsonl")
    with pytest.raises(DataError, match=message):
        import_sheets(store, [tmp_path / "bob.jsonl", tmp_path / "ann.jsonl"])
    assert "verdict" not in store.stats()["records"], "nothing of either sheet was kept"


def test_partial_repeated_and_answered_again(store: Store, sample: Sample, tmp_path: Path) -> None:
    rows = answered(sample, "ann")
    blank(rows)
    second_row = {**rows[0], "cut": "no", "cut_reason": "on second thought"}
    write_sheet([*rows, second_row], tmp_path / "ann.jsonl")
    filling = read_sheet(tmp_path / "ann.jsonl", sample, partial=True)
    assert filling.missing == (rows[1]["item"],) and filling.repeated == (rows[0]["item"],)
    import_sheets(store, [tmp_path / "ann.jsonl"], partial=True)
    assert [v.label for v in store.verdicts([rows[0]["item"]]) if v.label] == ["drop"], "the last answer holds"
    write_sheet([{**rows[0], "cut": "YES"}], tmp_path / "later.jsonl")
    import_sheets(store, [tmp_path / "later.jsonl"], partial=True)
    assert [v.label for v in store.verdicts([rows[0]["item"]]) if v.label] == ["keep"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b"{", "line 1: the file is cut off"),
        ("a.jsonl", b"[1]", "line 1: an object is expected"),
        ("a.csv", b"item,sample\n1,2,3\n", "."),
        ("a.csv", b"", "the file is empty"),
        ("a.csv", b"n,item\n1,x\n", "no sheet of a sample"),
        ("a.csv", b"n;sample;person;item\n1;s;ann;x\n", "divided by semicolons, a .csv file needs commas"),
        ("a.csv", b"n\tsample\tperson\titem\n1\ts\tann\tx\n", "divided by tabs, a .csv file needs commas"),
        ("a.csv", "n,sample\n".encode("utf-16"), "not UTF-8 text but UTF-16"),
        ("a.csv", b"n,sample\n1,C\xf4te\n", "line 2: .*not UTF-8 text .Latin-1"),
    ],
)
def test_files_that_are_no_sheets(store: Store, tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        import_sheets(store, [tmp_path / name])


def test_answers_are_not_overwritten(tmp_path: Path) -> None:
    rows = sheet(draw(MINI, percent=10), MINI.cases, "ann")
    write_sheet(rows, tmp_path / "ann.csv")
    write_sheet(rows, tmp_path / "ann.csv")  # the same blank sheet
    (tmp_path / "ann.csv").write_text("answers")
    with pytest.raises(UserError, match="there already and may hold answers"):
        write_sheet(rows, tmp_path / "ann.csv")


@pytest.mark.parametrize("name", ["Ann Lee", "", "a/b", "a\tb", "a\u2028b"])
def test_names_that_cannot_stand_in_a_verdict(name: str) -> None:
    assert not slug_ok(name)
    with pytest.raises(UserError, match="cannot be a person's name"):
        check_people(["bob", name])


def test_a_sheet_holds_no_character_that_is_obeyed(tmp_path: Path) -> None:
    row = {"sample": "s", "item": "i", "text": "Fly\x1b[2J to\u202e Oslo\nStep 2"}
    write_sheet([row], tmp_path / "ann.csv")
    assert "Fly\\u001b[2J to\\u202e Oslo\nStep 2" in (tmp_path / "ann.csv").read_text("utf-8-sig")


@pytest.mark.parametrize("answer", ["yes", "Y", "TRUE", " 1 "])
def test_how_people_write_yes(sample: Sample, tmp_path: Path, answer: str) -> None:
    rows = [{**row, "cut": answer} for row in answered(sample, "ann")]
    write_sheet(rows, tmp_path / "ann.csv")
    assert {v.value for v in read_sheet(tmp_path / "ann.csv", sample).verdicts if v.by.endswith("quality_cut@1")} == {1}


def test_a_sheet_that_a_spreadsheet_program_saved(sample: Sample, tmp_path: Path) -> None:
    """A byte order mark, line ends of Windows, an empty last row, quotes and line breaks inside a cell."""
    odd = sample.items[0].item_id
    rows = answered(sample, "ann", lambda i: "cut" if i == odd else "")
    for row in rows:
        row.update({"cut_reason": 'two\nlines, "quoted"; Zürich'} if row["item"] == odd else {})
    write_sheet(rows, tmp_path / "a.csv")
    data = (tmp_path / "a.csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbf")
    empty_row = b"," * (len(rows[0]) - 1) + b"\r\n"
    (tmp_path / "b.csv").write_bytes(data.replace(b"\n", b"\r\n") + empty_row)
    reasons = {v.reason for v in read_sheet(tmp_path / "b.csv", sample).verdicts if v.item_id == odd and v.label}
    assert {r.replace("\r\n", "\n") for r in reasons} == {'cut: two\nlines, "quoted"; Zürich'}


def test_a_sheet_runs_nothing_in_a_spreadsheet(sample: Sample, tmp_path: Path) -> None:
    rows = [{**row, "script_question": "=cmd|'/c calc'!A0"} for row in answered(sample, "ann")]
    path = tmp_path / "ann.csv"
    write_sheet(rows, path)
    assert "'=cmd" in path.read_text(encoding="utf-8-sig") and ",=cmd" not in path.read_text(encoding="utf-8-sig")
    assert len(read_sheet(path, sample).verdicts) == 4 * len(sample.items)


def test_report_weights_back_to_the_split(store: Store, tmp_path: Path) -> None:
    """Hand-worked: items with probability p weigh 1/p, an item's value is the share of its people who say yes."""
    sample = draw(MINI, percent=10, min_per_stratum=2, people=("ann", "bob"))
    assert len({d.probability for d in sample.items}) > 1, "strata differ"
    keep_sample(store, sample)
    odd = {d.item_id for d in sample.items if d.probability == max(x.probability for x in sample.items)}
    write_sheet(answered(sample, "ann", lambda i: "question" if i in odd else ""), tmp_path / "ann.jsonl")
    write_sheet(answered(sample, "bob"), tmp_path / "bob.jsonl")
    import_sheets(store, [tmp_path / "ann.jsonl", tmp_path / "bob.jsonl"])
    quality = report(store, sample_named(store, sample.name), resamples=200)
    weights = {d.item_id: 1 / d.probability for d in sample.items}
    odd_weight = sum(w for i, w in weights.items() if i in odd) / sum(weights.values())
    assert quality.complete and quality.missing == {"ann": 0, "bob": 0}
    assert quality.acceptance["all"].value == pytest.approx(1 - odd_weight / 2)
    assert quality.unanimous.value == quality.by_person["ann"].value == pytest.approx(1 - odd_weight)
    assert quality.acceptance["all"].low < quality.acceptance["all"].value < quality.acceptance["all"].high
    exact = quality.acceptance["cut"]
    assert exact.value == exact.high == 1.0 and 0.5 < exact.low < 1.0, "all say yes: exact, not of zero width"
    agree = quality.agreement["question"]
    assert agree.exact.value == pytest.approx(1 - len(odd) / len(sample.items))
    assert agree.prevalence["yes"].value == pytest.approx(1 - len(odd) / len(sample.items) / 2)
    assert agree.ac1.value > agree.alpha.value, "with nearly all yes, alpha is low beside high agreement"
    assert quality.agreement["cut"].alpha.value is None and "all values are equal" in text(quality)
    assert json.loads(json.dumps(summary(quality)))["acceptance"]["all"]["value"] == quality.acceptance["all"].value


def test_a_lead_s_decision_counts_for_the_item_and_for_nobody_s_agreement(
    store: Store, sample: Sample, tmp_path: Path
) -> None:
    write_sheet(answered(sample, "ann"), tmp_path / "ann.jsonl")
    write_sheet(answered(sample, "bob", lambda i: "cut"), tmp_path / "bob.jsonl")
    import_sheets(store, [tmp_path / "ann.jsonl", tmp_path / "bob.jsonl"])
    apart = report(store, sample, resamples=10)
    store.put([make_verdict(d.item_id, "keep", "person:lea/quality_adjudicated@1") for d in sample.items])
    decided = report(store, sample, resamples=10)
    assert (apart.acceptance["all"].value, decided.acceptance["all"].value) == (0.5, 1.0)
    assert decided.agreement == apart.agreement and set(decided.by_person) == {"ann", "bob"}
    assert f"{len(sample.items)} items decided by a lead" in text(decided)
    assert summary(decided)["decided_by_lead"] == len(sample.items)


def test_report_before_anybody_answered(store: Store, sample: Sample) -> None:
    quality = report(store, sample, resamples=10)
    assert not quality.complete and quality.missing == {"ann": len(sample.items), "bob": len(sample.items)}
    assert "undefined, because nobody has answered" in text(quality)


def test_people_who_were_not_asked_count_and_those_who_were_and_are_silent_are_missing(
    store: Store, sample: Sample, tmp_path: Path
) -> None:
    for name in ("ann", "eve"):
        keep_sample(store, draw(MINI, percent=30, people=(name,)))
        write_sheet(answered(sample, name), tmp_path / f"{name}.jsonl")
    import_sheets(store, [tmp_path / "ann.jsonl", tmp_path / "eve.jsonl"])
    quality = report(store, sample._replace(people=("ann", "bob")), resamples=10)
    assert quality.missing == {"ann": 0, "bob": len(sample.items), "eve": 0} and not quality.complete
    assert set(quality.by_person) == {"ann", "eve"}
    assert f"  bob: 0 answered, {len(sample.items)} missing" in text(quality).splitlines()


def test_of_one_person_s_answers_those_of_the_newest_form_count(store: Store) -> None:
    sample = draw(MINI, percent=10, people=("ann",))
    item = sample.items[0].item_id
    store.put([make_verdict(item, label, f"person:ann/quality@{n}") for n, label in ((2, "keep"), (1, "drop"))])
    assert answers(store, sample).of["all"][item] == {"ann": True}


PROMPTS = {p.id: c.key for c in MINI.cases for p in c.prompts}


def test_allocation_is_proportional_and_its_probabilities_are_true() -> None:
    """Drawn many times, each stratum gives what its probability says; the total never varies."""
    sizes = {"a": 7, "b": 13, "c": 55, "d": 1, "e": 24}
    totals: Counter[str] = Counter()
    for n in range(4000):
        shares = allocate(sizes, 10, min_per_stratum=0, rng=random.Random(n))
        assert sum(s.drawn for s in shares.values()) == 10
        for name, share in shares.items():
            assert share.probability == pytest.approx(0.1) and abs(share.drawn - sizes[name] / 10) < 1
            totals[name] += share.drawn
    for name, size in sizes.items():  # four standard errors of a Bernoulli mean
        assert totals[name] / 4000 == pytest.approx(size / 10, abs=4 * 0.5 / 4000**0.5)


def test_small_strata_get_their_least_with_their_own_probability() -> None:
    shares = allocate({"small": 5, "tiny": 1, "large": 100}, 10, min_per_stratum=2, rng=random.Random(0))
    assert shares["small"] == (2, 0.4) and shares["tiny"] == (1, 1.0) and shares["large"] == (10, 0.1)


def test_a_draw_is_seeded_by_content_and_settings() -> None:
    first = draw(MINI, percent=20)
    assert first == draw(MINI._replace(name="other"), percent=20)._replace(split=first.split)
    assert {d.item_id for d in first.items} != {d.item_id for d in draw(MINI, percent=20, number=1).items}
    assert first.population == len(PROMPTS) and len(first.items) == -(-len(PROMPTS) // 5)
    assert all(PROMPTS[d.item_id] == d.case for d in first.items)
    assert {d.item_id for d in draw(MINI, percent=100, unit="case").items} == {c.id for c in MINI.cases}
    with pytest.raises(UserError, match="sample of 0 %"):
        draw(MINI, percent=0)


def test_sheets_are_blind_and_each_in_an_order_of_its_own() -> None:
    sample = draw(MINI, percent=30, people=("ann", "bob"))
    ann, bob = sheet(sample, MINI.cases, "ann"), sheet(sample, MINI.cases, "bob")
    assert [r["item"] for r in ann] != [r["item"] for r in bob]
    assert {r["item"] for r in ann} == {r["item"] for r in bob} == {d.item_id for d in sample.items}
    fields = {"n", "sample", "person", "item", "edit", "script_question", "text_up_to_the_cut", "object"}
    assert set(ann[0]) == fields | {c.name for c in CRITERIA} | {f"{c.name}_reason" for c in CRITERIA}
    assert all("\nStep" in r["text_up_to_the_cut"] for r in ann)
    with pytest.raises(UserError, match="not in these cases"):
        sheet(sample, MINI.cases[:1], "ann")


def test_the_store_remembers_the_sample(store: Store, sample: Sample) -> None:
    draw_result = draw(MINI, percent=30, people=("ann", "bob"))
    assert sample == draw_result._replace(items=tuple(sorted(draw_result.items)))
    keep_sample(store, draw(MINI, percent=30, people=("eve",)))
    assert [s.people for s in samples(store, digest=MINI.digest)] == [("ann", "bob", "eve")]
    assert samples(store, digest="0") == []
    with pytest.raises(UserError, match="no sample is called 'zz'; allowed: "):
        sample_named(store, "zz")
