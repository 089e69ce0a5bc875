"""Checks over a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from curation.checks.store_checks import (
    STORE_CHECKS,
    CheckContext,
    ItemCheck,
    count_verdicts,
    due,
    due_items,
    make_checks,
    run_check,
)
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.core.records import Record
from schemas.facts import Fact, Object, Relation
from schemas.lineage import Lineage
from schemas.verdicts import Verdict
from tests.support.curation.measured_lengths import Length
from tests.support.curation.rule_records import P0, P1, P2, Q0, Q1, said
from tests.support.facts import make_fact, peru_fact


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "s.duckdb", create=True) as db:
        db.put([peru_fact(f"f/{n}") for n in range(5)])
        yield db


def test_judges_what_is_due_and_only_once(store: Store) -> None:
    messages: list[tuple[int, int]] = []
    outcome = run_check(store, Length(), on_progress=lambda a, b: messages.append((a, b)))
    assert (outcome.due, outcome.labels, outcome.left) == (5, {"measured": 5}, 0)
    assert messages == [(2, 5), (4, 5), (5, 5)]
    assert run_check(store, Length()).due == 0
    assert run_check(store, Length(), again=True).due == 5
    assert len(list(store.verdicts())) == 5, "judged again, a verdict is replaced"


def test_a_new_version_model_or_text_is_due_again(store: Store) -> None:
    run_check(store, Length())

    class Newer(Length):
        version = 2

    class WithModel(Length):
        default_model = "one"

    assert len(due(store, Newer())) == 5 and len(due(store, WithModel())) == 5
    run_check(store, WithModel())
    assert due(store, WithModel()) == [] and len(due(store, WithModel(model="two"))) == 5
    store.put([peru_fact("f/3", prompt="The chief city of {} is")])
    assert [r.key for r in due_items(store, Length())] == ["f/3"]


def test_stopped_in_the_middle_it_goes_on(store: Store) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_check(store, Length(Length.Params(fail_at="f/3")))
    assert len(list(store.verdicts())) == 2, "finished batches are kept"
    outcome = run_check(store, Length())
    assert outcome.due == 3 and len(list(store.verdicts())) == 5


def test_only_among_the_items_that_are_named(store: Store) -> None:
    wanted = {peru_fact("f/3").id, peru_fact("f/1").id, "not in this store"}
    assert run_check(store, Length(), among=wanted).due == 2
    assert {verdict.item_id for verdict in store.verdicts()} == wanted - {"not in this store"}
    assert run_check(store, Length(), among=wanted).due == 0 and run_check(store, Length(), among=set()).due == 0
    assert run_check(store, Length(), limit=1).due == 1
    assert run_check(store, Length()).due == 2, "the others stay due"


def test_objects_of_a_relation_once_each_in_an_order_drawn_for_it(store: Store) -> None:
    """Not by the text, nor by what else the store holds: objects that are added leave the others in their order."""
    store.put([peru_fact("f/x", old=Object(text="LIMA"), new=Object(text="Quito"))])
    first = [o.text for o in CheckContext(store).objects["P36"]]
    assert sorted(first) == ["Lima", "Oslo", "Quito"]
    many = [peru_fact(f"f/{n}/{relation}", old=Object(text=f"Town {n}"), relation=Relation(id=relation))
            for n in range(20) for relation in ("P36", "P35")]  # fmt: skip
    store.put(many)
    drawn = {relation: [o.text for o in of] for relation, of in CheckContext(store).objects.items()}
    assert [text for text in drawn["P36"] if text in first] == first and drawn["P36"] != sorted(drawn["P36"])
    assert [x for x in drawn["P36"] if "Town" in x] != [x for x in drawn["P35"] if "Town" in x]


def test_a_model_for_all_or_for_one() -> None:
    checks = make_checks(["predictability", "known_before"], models=["gpt2", "known_before=a/b=c"])
    assert [(c.name, c.model) for c in checks] == [("predictability", "gpt2"), ("known_before", "a/b=c")]
    assert len(make_checks(["token_boundary"], models=["x", "y"])) == 2


def test_without_names_all_run_but_those_on_request() -> None:
    check_names = {name for name in STORE_CHECKS.names() if STORE_CHECKS.get(name).on_request}
    assert check_names == {"verify_question", "verify_prompt", "verify_next"}
    assert {c.name for c in make_checks([])} == set(STORE_CHECKS.names()) - check_names
    models = {c.name: c.model for c in make_checks([], models=["verify_prompt=gpt-x", "predictability=gpt2"])}
    assert (models["verify_prompt"], models["predictability"]) == ("gpt-x", "gpt2") and "verify_question" not in models
    assert "gpt-x" not in [c.model for c in make_checks([], models=["known_before=gpt-x"]) if c.on_request]


@pytest.mark.parametrize(
    ("names", "more", "message"),
    [
        (["predictable"], {}, "did you mean 'predictability'"),
        (["known_before"], {"options": {"known_befor": {}}}, "'known_befor', which does not run"),
        (["known_before"], {"options": {"known_before": {"rival": 3}}}, "did you mean 'rivals'"),
        (["known_before"], {"models": ["predictability=gpt2"]}, "which does not run"),
    ],
)
def test_refusals(names: list[str], more: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make_checks(names, **more)


class ShortSubject(ItemCheck[Fact]):
    """Drops facts whose subject is longer than four letters; countries without a name here lack inputs."""

    name, version, on, about = "short_subject", 1, "fact", "Subjects of four letters at most."
    seen: ClassVar[list[int]] = []

    def inputs_of(self, items: Sequence[Record], around: CheckContext) -> Iterator[tuple[Record, Fact]]:
        self.seen.append(len(items))
        yield from ((item, item) for item in items if isinstance(item, Fact) and item.subject.text != "Nowhere")

    def applies(self, inputs: Fact) -> bool:
        return inputs.subject.text != "Utopia"

    def judge_one(self, inputs: Fact) -> Verdict:
        return self.verdict(inputs, "keep" if len(inputs.subject.text) <= 4 else "drop", inputs.subject.text)


def test_a_store_gets_what_judge_one_says_and_what_lacks_inputs_stays_due(tmp_path: Path) -> None:
    facts = [make_fact(name, "Lima", "Rome") for name in ("Peru", "Norway", "Utopia", "Nowhere")]
    check = ShortSubject()
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put(facts)
        run_check(store, check)
        verdicts = {v.item_id: (v.label, v.reason) for v in store.all(Verdict)}
        labels = [verdicts.get(fact.id) for fact in facts]
        assert labels == [("keep", "Peru"), ("drop", "Norway"), ("keep", "does not apply"), None]
        assert ShortSubject.seen == [4], "one batch"
        run_check(store, check)
        assert ShortSubject.seen == [4, 1], "only what is due is looked up again"


def test_verdicts_are_counted_and_what_a_small_model_wrote_is_called_so(tmp_path: Path) -> None:
    verdicts = [
        said(Q0.id, "form@1", "keep"),
        said(Q0.id, "leak@1", "drop"),
        said(P0.id, "leak@1", "unsure"),
        said(P1.id, "leak@1", "keep"),
        said(P2.id, "length@1", value=3.0),
    ]
    written = Lineage(item_id=Q0.id, stage="scripts", made_at="2026-01-01", model="gpt")
    for n, (change, smoke_test) in enumerate(
        [({}, False), ({"model": "embedded"}, True), ({"detail": {"quality": "plumbing quality"}}, True)]
    ):
        line = written.model_copy(update=change)
        with Store.open(tmp_path / f"{n}.duckdb", create=True) as store:
            store.put([Q0, Q1, P0, P1, P2, *verdicts], [line])
        counts = count_verdicts(tmp_path / f"{n}.duckdb")
        assert (counts.models, counts.smoke_test) == ([line.model], smoke_test)
    assert (counts.store, counts.kept, counts.dropped, counts.unsure) == ("2.duckdb", 2, 1, 1)
    assert counts.checks == [
        ("form", {"keep": 1}),
        ("leak", {"drop": 1, "unsure": 1, "keep": 1}),
        ("length", {"measured": 1}),
    ]
    assert counts.reasons == [("leak", "because", 2)]
