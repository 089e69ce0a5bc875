"""The quality sample: how it is drawn and kept, and what its report makes of people's answers."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from curation.loaders.importer import import_split
from curation.quality.report import answers, report, summary, text
from curation.quality.sample import CRITERIA, Sample, allocate, draw, keep_people, keep_sample, sample_named, samples
from curation.splits.split_file import make_split
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.verdicts import Verdict, verdict_key
from tests.support.curation.verdicts import make_verdict
from tests.support.small import small_split

MINI = make_split("mini", small_split().cases[:30])


def judge(store: Store, sample: Sample, person: str, no: Callable[[str], str] = lambda item: "") -> None:
    """A person's verdicts: yes to all, but no to the criterion that ``no`` names for an item."""
    verdicts = []
    for item in (d.item_id for d in sample.items):
        against = no(item)
        verdicts.append(make_verdict(item, "drop" if against else "keep", f"person:{person}/quality@3"))
        for criterion in CRITERIA:
            by, value = f"person:{person}/quality_{criterion}@3", float(criterion != against)
            key = verdict_key(item_id=item, by=by)
            verdicts.append(Verdict(key=key, item_id=item, by=by, label=None, value=value, unit="yes"))
    store.put(verdicts)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("base") / "s.duckdb"
    import_split(MINI, path, origin="test")
    return path


@pytest.fixture
def sample(store: Store) -> Sample:
    draw_result = draw(MINI, percent=30)
    keep_sample(store, draw_result)
    keep_people(store, {d.item_id: ("ann", "bob") for d in draw_result.items})
    keep_sample(store, draw_result)  # again changes nothing
    return sample_named(store, draw_result.name[:6])


def test_report_weights_back_to_the_split(store: Store) -> None:
    """Hand-worked: items with probability p weigh 1/p, an item's value is the share of its people who say yes."""
    sample = draw(MINI, percent=10, min_per_stratum=2)
    assert len({d.probability for d in sample.items}) > 1, "strata differ"
    keep_sample(store, sample)
    odd = {d.item_id for d in sample.items if d.probability == max(x.probability for x in sample.items)}
    judge(store, sample, "ann", lambda i: "question" if i in odd else "")
    judge(store, sample, "bob")
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


def test_a_lead_s_decision_counts_for_the_item_and_for_nobody_s_agreement(store: Store, sample: Sample) -> None:
    judge(store, sample, "ann")
    judge(store, sample, "bob", lambda i: "cut")
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
    assert text(quality).endswith("\nNobody has answered yet.") and "undefined" not in text(quality)


def test_an_answer_is_missing_where_somebody_was_asked_and_an_item_where_nobody_was(store: Store) -> None:
    drawn = draw(MINI, percent=30)
    keep_sample(store, drawn)
    first, *others = drawn.items
    judge(store, drawn._replace(items=tuple(others)), "ann")
    judge(store, drawn._replace(items=tuple(others[:2])), "eve")
    quality = report(store, sample_named(store, drawn.name), resamples=10)
    assert (quality.missing, quality.unanswered, quality.complete) == ({"ann": 0, "eve": 0}, 1, False)
    assert "  1 item without an answer, and nobody was asked about it" in text(quality)
    keep_people(store, {d.item_id: ("ann", "bob") for d in others} | {first.item_id: ("bob",)})
    quality = report(store, sample_named(store, drawn.name), resamples=10)
    assert (quality.missing, quality.unanswered) == ({"ann": 0, "bob": len(drawn.items), "eve": 0}, 0)
    assert set(quality.by_person) == {"ann", "eve"} and not quality.complete
    assert f"  bob: 0 answered, {len(drawn.items)} missing" in text(quality).splitlines()
    keep_people(store, {d.item_id: ("ann",) for d in others})
    judge(store, drawn._replace(items=(first,)), "bob")
    assert report(store, sample_named(store, drawn.name), resamples=10).complete, "bob was asked about one item"


def test_of_one_person_s_answers_those_of_the_newest_form_count(store: Store) -> None:
    sample = draw(MINI, percent=10)
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


def test_the_store_remembers_the_sample(store: Store, sample: Sample) -> None:
    drawn = draw(MINI, percent=30)
    assert sample._replace(items=tuple(d._replace(people=()) for d in sample.items)) == drawn._replace(
        items=tuple(sorted(drawn.items))
    )
    assert samples(store, digest="0") == []
    with pytest.raises(UserError, match="no sample is called 'zz'; allowed: "):
        sample_named(store, "zz")


def test_who_is_asked_may_change_and_a_person_who_is_forgotten_is_in_no_line(store: Store, sample: Sample) -> None:
    item = sample.items[0].item_id
    for people in (("bob", "ann"), ("eve",), ("ann", "bob")):
        keep_people(store, {item: people})
        (kept,) = samples(store, digest=MINI.digest)
        assert {d.people for d in kept.items} == {("ann", "bob"), tuple(sorted(people))}
    store.delete_judgements("ann")
    assert {d.people for d in samples(store)[0].items} == {("bob",)}
    assert "ann" not in {name for line in store.lineages(stage="quality_sample") for name in line.detail["people"]}
    keep_sample(store, draw(MINI, percent=10))
    assert [len(s.items) for s in samples(store)] == [len(sample.items), 12], "the one drawn last at the end"
    assert len(sample_named(store, "").items) == 12
    with pytest.raises(UserError, match="2 samples are called 'mini'"):
        sample_named(store, "mini")
