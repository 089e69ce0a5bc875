from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from curation.loaders.importer import import_split
from curation.quality.report import report, summary, text
from curation.quality.sample import CRITERIA, Sample, allocate, draw, keep_sample, sample_named, samples, sheet
from curation.quality.sheets import import_sheets, read_sheet, sheet_path, write_sheet
from curation.shipped import mini_split
from curation.splits.split_file import make_split
from curation.store.store import Store
from schemas.core.errors import DataError, UserError

MINI = make_split("mini", mini_split().cases[:30])
PROMPTS = {p.id: c.key for c in MINI.cases for p in c.prompts}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("base") / "s.duckdb"
    import_split(MINI, path, origin="test")
    return path


@pytest.fixture
def store(base: Path, tmp_path: Path) -> Iterator[Store]:
    with Store.open(shutil.copy(base, tmp_path / "s.duckdb"), write=True) as made:
        yield made


def test_allocation_is_proportional_and_its_probabilities_are_true() -> None:
    """Drawn many times, each stratum gives what its probability says; the total never varies."""
    sizes = {"a": 7, "b": 13, "c": 55, "d": 1, "e": 24}
    totals: Counter[str] = Counter()
    for n in range(4000):
        shares = allocate(sizes, 10, least=0, rng=random.Random(n))
        assert sum(s.drawn for s in shares.values()) == 10
        for name, share in shares.items():
            assert share.probability == pytest.approx(0.1) and abs(share.drawn - sizes[name] / 10) < 1
            totals[name] += share.drawn
    for name, size in sizes.items():  # four standard errors of a Bernoulli mean
        assert totals[name] / 4000 == pytest.approx(size / 10, abs=4 * 0.5 / 4000**0.5)


def test_small_strata_get_their_least_with_their_own_probability() -> None:
    shares = allocate({"small": 5, "tiny": 1, "large": 100}, 10, least=2, rng=random.Random(0))
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
    told = {"n", "sample", "person", "item", "edit", "script_question", "text_up_to_the_cut", "object"}
    assert set(ann[0]) == told | {c.name for c in CRITERIA} | {f"{c.name}_reason" for c in CRITERIA}
    assert all("\nStep" in r["text_up_to_the_cut"] for r in ann)
    with pytest.raises(UserError, match="not in these cases"):
        sheet(sample, MINI.cases[:1], "ann")


def answered(sample: Sample, person: str, no: Callable[[str], str] = lambda item: "") -> list[dict[str, Any]]:
    """A filled sheet: yes to all, but no to the criterion that ``no`` names for an item."""
    rows = []
    for row in sheet(sample, MINI.cases, person):
        against = no(row["item"])
        said = {c.name: "no" if c.name == against else "yes" for c in CRITERIA}
        rows.append({**row, **said, **({f"{against}_reason": "it is odd"} if against else {})})
    return rows


@pytest.fixture
def sample(store: Store) -> Sample:
    made = draw(MINI, percent=30, people=("ann", "bob"))
    keep_sample(store, made)
    keep_sample(store, made)  # again changes nothing
    return sample_named(store, made.name[:6])


def test_the_store_remembers_the_sample(store: Store, sample: Sample) -> None:
    made = draw(MINI, percent=30, people=("ann", "bob"))
    assert sample == made._replace(items=tuple(sorted(made.items)))
    keep_sample(store, draw(MINI, percent=30, people=("eve",)))
    assert [s.people for s in samples(store, digest=MINI.digest)] == [("ann", "bob", "eve")]
    assert samples(store, digest="0") == []
    with pytest.raises(UserError, match="no samples are called 'zz'; allowed: "):
        sample_named(store, "zz")


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_round_trip(store: Store, sample: Sample, tmp_path: Path, form: str) -> None:
    odd = sample.items[0].item_id
    path = sheet_path(tmp_path, "ann", form)
    write_sheet(answered(sample, "ann", lambda i: "cut" if i == odd else ""), path)
    (filled,) = import_sheets(store, [path])
    assert (filled.person, filled.repeated, filled.missing) == ("ann", (), ())
    by = {v.by: v for v in store.verdicts([odd])}
    whole, cut = by["person:ann/quality@1"], by["person:ann/quality_cut@1"]
    assert (whole.label, whole.reason) == ("drop", "cut: it is odd") and (cut.label, cut.value) == (None, 0.0)
    assert by["person:ann/quality_question@1"].value == 1.0
    assert store.lineage(whole.id)[0].detail == {"from": path.name}
    assert len(filled.verdicts) == 4 * len(sample.items)


def blank(rows: list[dict[str, Any]]) -> None:
    rows[1].update({c.name: "" for c in CRITERIA})


FAULTS: list[tuple[str, Callable[[list[dict[str, Any]]], object], str]] = [
    ("a no without a reason", lambda r: r[0].update(cut="no"), "line 1: the no to 'cut' has no reason"),
    ("half answered", lambda r: r[1].update(cut=""), r"line 2: no answer to 'cut' \(yes or no\)"),
    ("neither yes nor no", lambda r: r[1].update(cut="maybe"), "line 2: 'maybe' is no answer to 'cut'"),
    ("another item", lambda r: r[2].update(item="f" * 20), "line 3: 'f+' is no item of the sample .* more faults"),
    ("another sample", lambda r: r[2].update(sample="x"), "line 3: .* is no item of the sample"),
    ("somebody not asked", lambda r: [x.update(person="eve") for x in r], r"'eve' was not asked \(ann, bob\)"),
    ("two people", lambda r: r[0].update(person="bob"), "one sheet is of one person"),
    ("a row is gone", lambda r: r.pop(), "1 of .* items have no answer; .*--partial"),
    ("a row is empty", blank, "1 of .* items have no answer"),
]


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
    again = {**rows[0], "cut": "no", "cut_reason": "on second thought"}
    write_sheet([*rows, again], tmp_path / "ann.jsonl")
    filled = read_sheet(tmp_path / "ann.jsonl", sample, partial=True)
    assert filled.missing == (rows[1]["item"],) and filled.repeated == (rows[0]["item"],)
    import_sheets(store, [tmp_path / "ann.jsonl"], partial=True)
    assert [v.label for v in store.verdicts([rows[0]["item"]]) if v.label] == ["drop"], "the last answer holds"
    write_sheet([{**rows[0], "cut": "YES"}], tmp_path / "later.jsonl")
    import_sheets(store, [tmp_path / "later.jsonl"], partial=True)
    assert [v.label for v in store.verdicts([rows[0]["item"]]) if v.label] == ["keep"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b"{", "line 1: not JSON"),
        ("a.jsonl", b"[1]", "line 1: not a JSON object"),
        ("a.jsonl", b"\xff\xfe", "UTF-8"),
        ("a.csv", b"item,sample\n1,2,3\n", "."),
        ("a.csv", b"", "no sheet of a sample"),
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


def test_report_weights_back_to_the_split(store: Store, tmp_path: Path) -> None:
    """Hand-worked: items with probability p weigh 1/p, an item's value is the share of its people who say yes."""
    made = draw(MINI, percent=10, least=2, people=("ann", "bob"))
    assert len({d.probability for d in made.items}) > 1, "strata differ"
    keep_sample(store, made)
    odd = {d.item_id for d in made.items if d.probability == max(x.probability for x in made.items)}
    write_sheet(answered(made, "ann", lambda i: "question" if i in odd else ""), tmp_path / "ann.jsonl")
    write_sheet(answered(made, "bob"), tmp_path / "bob.jsonl")
    import_sheets(store, [tmp_path / "ann.jsonl", tmp_path / "bob.jsonl"])
    found = report(store, sample_named(store, made.name), resamples=200)
    weights = {d.item_id: 1 / d.probability for d in made.items}
    lost = sum(w for i, w in weights.items() if i in odd) / sum(weights.values())
    assert found.complete and found.missing == {"ann": 0, "bob": 0}
    assert found.acceptance["all"].value == pytest.approx(1 - lost / 2)
    assert found.unanimous.value == found.by_person["ann"].value == pytest.approx(1 - lost)
    assert found.acceptance["all"].low < found.acceptance["all"].value < found.acceptance["all"].high
    exact = found.acceptance["cut"]
    assert exact.value == exact.high == 1.0 and 0.5 < exact.low < 1.0, "all say yes: exact, not of zero width"
    agree = found.agreement["question"]
    assert agree.exact.value == pytest.approx(1 - len(odd) / len(made.items))
    assert agree.prevalence["yes"].value == pytest.approx(1 - len(odd) / len(made.items) / 2)
    assert agree.ac1.value > agree.alpha.value, "with nearly all yes, alpha is low beside high agreement"
    assert found.agreement["cut"].alpha.value is None and "all values are equal" in text(found)
    assert json.loads(json.dumps(summary(found)))["acceptance"]["all"]["value"] == found.acceptance["all"].value


def test_report_before_anybody_answered(store: Store, sample: Sample) -> None:
    found = report(store, sample, resamples=10)
    assert not found.complete and found.missing == {"ann": len(sample.items), "bob": len(sample.items)}
    assert "undefined, because nobody has answered" in text(found)
