"""What is counted of a split, and what the store adds."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.export.summary import SplitSummary, event_numbers, survey
from curation.loaders.importer import import_split
from curation.shipped import mini_split
from curation.splits.split_file import Split, make_split
from curation.store.store import Store
from schemas.cases import Case
from schemas.facts import Source
from schemas.lineage import Lineage
from schemas.ratings import Rating
from schemas.verdicts import Verdict
from tests.support.curation.rule_records import ann, said
from tests.support.events import MOVE, event_case, make_event, make_fact_question
from tests.support.facts import peru_fact

SPLIT = make_split("four", mini_split().cases[:4])
QUESTIONS = [q.id for c in SPLIT.cases for q in c.questions]
LINK = SPLIT.cases[0].neighbours[0].link


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("base") / "s.duckdb"
    import_split(SPLIT, path, origin="tests")
    return path


def told(base: Path, tmp_path: Path, *records: Verdict | Rating, split: Split = SPLIT) -> SplitSummary:
    """What is said of the split once the store holds these records too."""
    path = tmp_path / "s.duckdb"
    path.write_bytes(base.read_bytes())
    with Store.open(path, write=True) as store:
        store.put(records)
        return survey(split, store)


def rating(item: str, rater: str, value: int | None, **changes: object) -> Rating:
    fields = {"key": f"r/{rater}/{item}/{value}", "item_id": item, "aspect": "coherence", "value": value}
    fields |= {"rater": rater, "form": "rate_script@1", "reason": "" if value else "no script"}
    return Rating.model_validate({**fields, **changes})


def test_one_bare_fact() -> None:
    summary = survey(make_split("one", [Case(key="case/f", fact=peru_fact("f"))]))
    assert (summary.questions, summary.prompts, summary.lonely, summary.repeated) == (0, 0, 1, 0)
    assert (summary.steps, summary.neighbours, summary.changes) == ({}, {}, {"counterfactual": 1})
    assert summary.relations == {"capital": 1} and summary.licences == ["CC0-1.0"]


def test_licences_most_frequent_first_over_all_sources() -> None:
    def case(key: str, name: str, licence: str) -> Case:
        return Case(key=f"case/{key}", fact=peru_fact(key, source=Source(name=name, licence=licence)))

    rare_first = [case("a", "one", "MIT"), case("b", "two", "CC0-1.0"), case("c", "three", "CC0-1.0")]
    assert survey(make_split("s", rare_first)).licences == ["CC0-1.0", "MIT"]


def test_steps_are_in_order_and_unknown_ones_last() -> None:
    (case, *_) = SPLIT.cases
    prompts = [case.prompts[0].model_copy(update={"key": f"p{n}", "step": n}) for n in (10, None, 2)]
    variant = case.model_copy(update={"prompts": tuple(prompts)})
    assert list(survey(make_split("s", [variant])).steps) == [2, 10, None]


def test_without_a_store_nothing_is_said_of_people(base: Path, tmp_path: Path) -> None:
    summary, with_store = survey(SPLIT), told(base, tmp_path)
    assert not summary.from_store and with_store.from_store
    assert (with_store.checks, with_store.people, dict(with_store.judge_models)) == ({}, (), {})
    assert [(o.stage, o.model) for o in with_store.made] == [("import", None)]
    assert with_store.prompts == summary.prompts


def test_verdicts_on_other_items_do_not_count(base: Path, tmp_path: Path) -> None:
    summary = told(
        base,
        tmp_path,
        said(QUESTIONS[0], "leak@1", "keep"),
        said("0" * 20, "leak@1", "drop"),
        said(LINK.id, "pair@1", "drop", "0" * 20),
        said(LINK.id, "pair@1", "keep", SPLIT.cases[0].neighbours[0].prompts[0].id),
        said(QUESTIONS[1], "near@1", value=0.5),
    )
    assert summary.checks == {"leak@1": {"keep": 1}, "near@1": {"measured": 1}, "pair@1": {"keep": 1}}


def test_one_persons_word_is_acceptance_and_no_agreement(base: Path, tmp_path: Path) -> None:
    summary = told(base, tmp_path, ann(QUESTIONS[0], "keep"), ann(QUESTIONS[1], "drop"))
    (people,) = summary.people
    assert (people.task, people.raters, people.items, people.judgements) == ("filter@1", 1, 2, 2)
    assert people.labels == {"drop": 1, "keep": 1} and people.acceptance.startswith("0.500 [")
    assert "undefined" in people.exact and "undefined" in people.alpha


def test_who_only_left_items_unscored_judged_nothing(base: Path, tmp_path: Path) -> None:
    summary = told(base, tmp_path, ann(QUESTIONS[0], "unscored"))
    assert summary.people[0].acceptance == "undefined, because nothing was judged"
    assert summary.people[0].judgements == 0


def test_people_who_contradict_each_other(base: Path, tmp_path: Path) -> None:
    pairs = [ann(i, label, name) for i in QUESTIONS for name, label in (("ann", "keep"), ("bob", "drop"))]
    (people,) = told(base, tmp_path, *pairs).people
    assert people.exact.startswith("0.000") and people.acceptance.startswith("0.500")
    assert people.alpha.startswith("-")


def test_a_judgement_of_a_pair_is_a_unit_of_its_own(base: Path, tmp_path: Path) -> None:
    prompts = [p.id for p in SPLIT.cases[0].neighbours[0].prompts]
    neighbour_verdict = said(LINK.id, "person:ann/filter@1", "keep", prompts[0])
    (people,) = told(base, tmp_path, ann(LINK.id, "drop"), neighbour_verdict).people
    assert (people.items, people.judgements) == (2, 2)


def test_tasks_are_apart_and_judges_are_not_people(base: Path, tmp_path: Path) -> None:
    summary = told(
        base,
        tmp_path,
        ann(QUESTIONS[0], "keep"),
        ann(QUESTIONS[0], "keep", task="other@2"),
        rating(QUESTIONS[0], "person:ann", 7),
        rating(QUESTIONS[0], "person:bob", 1, form="rate_script@2"),
        rating(QUESTIONS[0], "judge:m", 3),
        rating(QUESTIONS[1], "judge:m", 3),
        rating("0" * 20, "person:ann", 1),
    )
    names = ["filter@1", "other@2", "coherence (rate_script@1)", "coherence (rate_script@2)"]
    assert [p.task for p in summary.people] == names and summary.judge_models == {"m": 2}
    assert [(p.level, p.items, p.raters) for p in summary.people[2:]] == [("ordinal", 1, 1)] * 2


def test_the_later_rating_of_a_text_is_meant(base: Path, tmp_path: Path) -> None:
    ratings = [rating(QUESTIONS[0], f"person:{name}", value) for name, value in (("ann", 2), ("ann", 6), ("bob", 6))]
    (people,) = told(base, tmp_path, *ratings).people
    assert people.judgements == 2 and people.labels == {"6": 2} and people.exact.startswith("1.000")


def test_lineage_is_summed_by_way_with_its_first_and_last_day(base: Path, tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    path.write_bytes(base.read_bytes())
    days = ["2026-01-03", "2026-01-01", "2026-02-01"]
    with Store.open(path, write=True) as store:
        store.put(
            [],
            [
                Lineage(item_id=i, stage="questions", made_at=f"{d}T01:02:03", model="m", prompt="ask@1")
                for i, d in zip([*QUESTIONS[:2], "0" * 20], days, strict=True)
            ],
        )
        stages = [o for o in survey(SPLIT, store).made if o.stage == "questions"]
    assert [(o.model, o.prompt, o.items, o.first, o.last) for o in stages] == [("m", "ask@1", 2, days[1], days[0])]


def test_counts_of_two_events() -> None:
    question = make_fact_question("Where is Corvo Foods?", "Turin", event=MOVE, background=True)
    move = event_case("case/m", event=make_event(MOVE, type="headquarters", origin="fact"), facts=(question,),
                      tendencies=())  # fmt: skip
    summary = event_numbers([event_case(), move])
    assert (dict(summary.types), dict(summary.origins)) == ({"merger": 1, "headquarters": 1}, {"written": 1, "fact": 1})
    assert (dict(summary.facts), dict(summary.tendencies)) == ({"in": 3, "out": 1}, {"in": 1, "out": 1})
    assert (summary.unknown, summary.background, summary.bare) == (1, 1, (1, 0))
    assert dict(summary.letters) == {("in", "A"): 1, ("out", "C"): 1}
    assert summary.licences == ["CC0-1.0"] and sum(summary.sources.values()) == 2
