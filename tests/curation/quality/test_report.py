"""What people said of a quality sample: weighted acceptance, and apart from it agreement."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from curation.quality.report import answers, report, summary, text
from curation.quality.sample import Sample, draw, keep_sample, sample_named
from curation.quality.sheets import import_sheets, write_sheet
from curation.store.store import Store
from schemas.verdicts import Verdict
from tests.support.curation.filled_sheets import MINI, answered


def test_report_weights_back_to_the_split(store: Store, tmp_path: Path) -> None:
    """Hand-worked: items with probability p weigh 1/p, an item's value is the share of its people who say yes."""
    made = draw(MINI, percent=10, min_per_stratum=2, people=("ann", "bob"))
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


def test_people_who_were_not_asked_count_and_those_who_were_and_are_silent_are_missing(
    store: Store, sample: Sample, tmp_path: Path
) -> None:
    for name in ("ann", "eve"):
        keep_sample(store, draw(MINI, percent=30, people=(name,)))
        write_sheet(answered(sample, name), tmp_path / f"{name}.jsonl")
    import_sheets(store, [tmp_path / "ann.jsonl", tmp_path / "eve.jsonl"])
    found = report(store, sample._replace(people=("ann", "bob")), resamples=10)
    assert found.missing == {"ann": 0, "bob": len(sample.items), "eve": 0} and not found.complete
    assert set(found.by_person) == {"ann", "eve"}
    assert f"  bob: 0 answered, {len(sample.items)} missing" in text(found).splitlines()


def test_nobody_asked_and_nobody_answered_is_not_complete(store: Store) -> None:
    made = draw(MINI, percent=10)
    found = report(store, made, resamples=10)
    assert found.missing == {} and not found.complete
    plain = summary(found)
    assert plain["acceptance"]["all"]["reason"] == "nobody has answered" and "value" not in plain["acceptance"]["all"]
    json.dumps(plain)


def test_one_person_is_no_agreement(store: Store, sample: Sample, tmp_path: Path) -> None:
    write_sheet(answered(sample, "ann", lambda i: "cut"), tmp_path / "ann.jsonl")
    import_sheets(store, [tmp_path / "ann.jsonl"])
    found = report(store, sample_named(store, sample.name), resamples=10)
    assert found.acceptance["all"].value == 0.0 == found.acceptance["cut"].value
    assert found.acceptance["question"].value == 1.0
    assert found.agreement["all"].exact.value is None and found.agreement["all"].alpha.value is None


def test_answers_on_other_items_are_not_of_the_sample(store: Store, sample: Sample, tmp_path: Path) -> None:
    write_sheet(answered(sample, "ann"), tmp_path / "ann.jsonl")
    import_sheets(store, [tmp_path / "ann.jsonl"])
    half = sample._replace(items=sample.items[:3])
    found = answers(store, half)
    assert set(found.of["all"]) == {d.item_id for d in half.items} and found.people == ("ann",)
    assert report(store, half, resamples=10).acceptance["all"].n == 3


def test_answers_on_parsed_steps_count_are_told_apart_and_give_way_to_newer_ones(store: Store) -> None:
    made = draw(MINI, percent=10, people=("ann",))
    keep_sample(store, made)
    first, *_ = ids = [d.item_id for d in made.items]

    def said(item: str, version: int, change: float, related: tuple[str, ...] = ("a" * 20, "b" * 20)) -> list[Verdict]:
        told = {"item_id": item, "reason": "compared", "unit": "yes"}
        names = {"quality": None, "quality_question": 1.0, "quality_change": change, "quality_cut": 1.0}
        return [
            Verdict.model_validate(
                {**told, "by": f"person:ann/{name}@{version}", "label": None if value is not None else "keep",
                 "key": f"{item}/{name}@{version}", "value": value,
                 "related": related if name == "quality_change" else ()}
            )
            for name, value in names.items()
        ]  # fmt: skip

    store.put([v for item in ids for v in said(item, 1, 0.0)])
    old = report(store, made, resamples=10)
    assert old.complete and old.acceptance["change"].value == 0.0 and old.on_steps == len(ids)
    assert f"{len(ids)} comparisons of parsed steps (form quality@1)" in text(old)
    assert summary(old)["on_parsed_steps"] == len(ids)
    store.put(said(first, 2, 1.0))
    new = answers(store, made)
    assert new.of["change"][first]["ann"] and new.on_steps == len(ids) - 1
    imagined = said(ids[-1], 1, 0.0, related=())
    store.put(imagined)
    assert answers(store, made).on_steps == len(ids) - 2, "where no scripts were shown, no steps were"
    assert "on_parsed_steps" not in summary(report(store, made, resamples=10)._replace(on_steps=0))
