"""What people said of a quality sample: weighted acceptance, and apart from it agreement."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from curation.quality.sample import Sample, draw, keep_sample, sample_named
from curation.quality.sheets import answers, import_sheets, report, summary, text, write_sheet
from curation.store.store import Store
from tests.support.curation.filled_sheets import MINI, answered
from tests.support.curation.verdicts import make_verdict


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


def test_nobody_asked_and_nobody_answered_is_not_complete(store: Store) -> None:
    sample = draw(MINI, percent=10)
    quality = report(store, sample, resamples=10)
    assert quality.missing == {} and not quality.complete
    plain = summary(quality)
    assert plain["acceptance"]["all"]["reason"] == "nobody has answered" and "value" not in plain["acceptance"]["all"]
    json.dumps(plain)


def test_one_person_is_no_agreement(store: Store, sample: Sample, tmp_path: Path) -> None:
    write_sheet(answered(sample, "ann", lambda i: "cut"), tmp_path / "ann.jsonl")
    import_sheets(store, [tmp_path / "ann.jsonl"])
    quality = report(store, sample_named(store, sample.name), resamples=10)
    assert quality.acceptance["all"].value == 0.0 == quality.acceptance["cut"].value
    assert quality.acceptance["question"].value == 1.0
    assert quality.agreement["all"].exact.value is None and quality.agreement["all"].alpha.value is None


def test_answers_on_other_items_are_not_of_the_sample(store: Store, sample: Sample, tmp_path: Path) -> None:
    write_sheet(answered(sample, "ann"), tmp_path / "ann.jsonl")
    import_sheets(store, [tmp_path / "ann.jsonl"])
    half = sample._replace(items=sample.items[:3])
    answer_list = answers(store, half)
    assert set(answer_list.of["all"]) == {d.item_id for d in half.items} and answer_list.people == ("ann",)
    assert report(store, half, resamples=10).acceptance["all"].n == 3


def test_of_one_person_s_answers_those_of_the_newest_form_count(store: Store) -> None:
    sample = draw(MINI, percent=10, people=("ann",))
    item = sample.items[0].item_id
    store.put([make_verdict(item, label, f"person:ann/quality@{n}") for n, label in ((2, "keep"), (1, "drop"))])
    assert answers(store, sample).of["all"][item] == {"ann": True}
