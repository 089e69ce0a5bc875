"""Declared cases: made of facts, opened, kept apart from what is evaluated, part of a run's identity."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from curation.case_sources.support import SupportChoice, TrainingData, cases_from_facts, open_support
from curation.loaders import load
from curation.shipped import demonstrations_split, shipped_split
from curation.splits.split_file import make_split, write_split
from evaluation.runs.dry_run import size
from evaluation.runs.runner import execute
from schemas.cases import Case, DocumentCase, EventCase
from schemas.core.errors import UserError
from schemas.facts import Entity, Object
from tests.support.arithmetic import make_case, make_config
from tests.support.documents.records import document_case, make_document, make_probe
from tests.support.events import event_case, make_event, make_fact_question
from tests.support.facts import peru_fact
from tests.support.small import small_split


def test_cases_are_made_of_facts() -> None:
    facts = [
        peru_fact("a", subject=Entity(text="A")),
        peru_fact("b", subject=Entity(text="B"), prompt="B's town, {}, is"),
        peru_fact("c", subject=Entity(text="C"), old=Object(text="Bern")),
        peru_fact("d", subject=Entity(text="D"), new=None, change="none"),
    ]
    edits = cases_from_facts(facts[::-1])
    assert [c.key for c in edits] == ["case/a", "case/b", "case/c"]  # nothing to edit in d
    near = {c.key: [(n.link.how, n.fact.subject.text) for n in c.neighbours] for c in edits}
    assert sorted(near["case/a"]) == [("same_object", "B"), ("same_object", "D")]
    assert len(near["case/c"]) == 1 and near["case/c"][0][0] == "near_subject"
    assert all(n.fact.new is None and n.fact.old.text == "Lima" for n in edits[0].neighbours)
    assert cases_from_facts(facts) == edits


def test_shipped_support_shares_nothing_with_mini() -> None:
    result = open_support(SupportChoice(name="shipped"), small_split())
    training_data = TrainingData.of("shipped", result.cases)
    assert len(result.cases) > 500 and result.left_out > 100
    assert not any(training_data.shares(c) for c in small_split().cases)
    beside_open = TrainingData.of("open", open_support(SupportChoice(name="shipped"), shipped_split("open")).cases)
    assert not any(beside_open.shares(c) for c in shipped_split("open").cases)
    few = open_support(SupportChoice(name="shipped", limit=20), small_split())
    assert few.cases == result.cases[:20] and few.digest != result.digest
    support = open_support(SupportChoice(name="shipped", limit=20, seed=1), small_split())
    assert support.cases != few.cases
    separate = open_support(SupportChoice(name="demonstrations", overlapping="refuse"), small_split())
    assert len(separate.cases) == len(demonstrations_split().cases) == 12 and not separate.left_out
    assert all(c.prompts and c.neighbours for c in separate.cases)


def told(case: str, **changes: Any) -> DocumentCase:
    """A case of one document, with a question to it."""
    document = make_document(**changes)
    return document_case(
        case, document=document, probes=(make_probe("Where?", "Rovo", level=2, document=document.key),)
    )


def first_of(*subjects: str) -> Case:
    """The first of the cases of two facts, which is the other's neighbour."""
    return cases_from_facts([peru_fact(f"f/{n}", subject=Entity(text=s)) for n, s in enumerate(subjects)])[0]


@pytest.mark.parametrize(
    ("case", "shared"),
    [
        (make_case("Land01"), "the case 'case/land01'"),
        (make_case("Land01").model_copy(update={"key": "case/x"}), "the fact 'fact/land01'"),
        (first_of("LAND01", "Y"), "the subject 'LAND01'"),
        (first_of("Land01ville", "Y"), "the subject 'Land01ville'"),
        (told("case/d/bridge"), "the case 'case/d/bridge'"),
        (told("case/x", key="d/bridge", text="Another text."), "the document 'd/bridge'"),
        (
            told("case/x", key="d/x", text="the orla  bridge OPENED in 1931 -- Ada Brun designed it!"),
            "the document 'd/x'",
        ),
        (told("case/x", key="d/x", text="It was repaired.", entity="orla bridge"), "the subject 'orla bridge'"),
        (told("case/x", key="d/x", text="There.", entity=None, further_names=("Orla Bridge",)), "the subject"),
    ],
)
def test_what_is_evaluated_is_no_support(case: Case | DocumentCase, shared: str, tmp_path: Path) -> None:
    facts, file = isinstance(case, Case), tmp_path / "train.jsonl"
    split = make_split("evaluated", [make_case("Land01"), make_case("Land02")] if facts else [document_case()])
    free = make_case("Elsewhere") if facts else told("case/tram", key="d/tram", text="Line 9 runs.", entity=None)
    write_split(make_split("train", [free, case]), file)
    with pytest.raises(UserError, match=f"shares {shared}.* with the evaluated split 'evaluated'.*leave_out"):
        open_support(SupportChoice(file=file), split)
    support = open_support(SupportChoice(file=file, overlapping="leave_out"), split)
    assert (support.cases, support.left_out) == ((free,), 1)
    assert set(open_support(SupportChoice(file=file), None).cases) == {free, case}


def test_an_overlapping_neighbour_goes_alone(tmp_path: Path) -> None:
    lone = first_of("A", "Land01")
    assert lone.neighbours
    write_split(make_split("train", [lone]), tmp_path / "t.jsonl")
    choice = SupportChoice(file=tmp_path / "t.jsonl", overlapping="leave_out")
    (support,) = open_support(choice, make_split("e", [make_case("Land01")])).cases
    assert support.fact == lone.fact and support.neighbours == ()


def test_facts_as_support(tmp_path: Path) -> None:
    path = tmp_path / "facts.jsonl"
    rows = [peru_fact(f"f/{n}", subject=Entity(text=f"Place {n}")) for n in range(4)]
    path.write_text("".join(json.dumps(f.payload()) + "\n" for f in rows), encoding="utf-8")
    assert len(open_support(SupportChoice(facts=path), small_split()).cases) == 4
    split = make_split("e", [make_case("Place 2")])
    with pytest.raises(UserError, match=r"'f/2' is about 'Place 2'.*1 of 4 facts overlap"):
        open_support(SupportChoice(facts=path), split)
    support = open_support(SupportChoice(facts=path, overlapping="leave_out"), split)
    assert len(support.cases) == 3 and support.left_out == 1
    assert all(n.fact.subject.text != "Place 2" for c in support.cases for n in c.neighbours)


def test_choices_are_checked(tmp_path: Path) -> None:
    for data, message in (
        ({}, "give one of"),
        ({"name": "mini", "facts": "x"}, "give one of"),
        ({"name": "other"}, "needs a store"),
        ({"store": "s.duckdb", "file": "f"}, "a store needs the name"),
    ):
        with pytest.raises(ValueError, match=message):
            SupportChoice.model_validate(data)
    assert make_config(tmp_path, support="shipped").support == SupportChoice(name="shipped")
    with pytest.raises(UserError, match="no case of the support is left"):
        open_support(SupportChoice(name="demonstrations", prefix="nothing"), None)
    for name in ("open", "open:test"):
        with pytest.raises(ValueError, match=f"'{name}' is for evaluation only, nothing may learn from it"):
            make_config(tmp_path, split="mini", support=name)


def test_learning_methods_are_refused_without_support(tmp_path: Path) -> None:
    config = make_config(tmp_path / "run", editors=["none", "ike"])
    for act in (execute, size):
        with pytest.raises(UserError, match=r"editors.ike: 'ike' learns from declared cases.*support = \"shipped\""):
            act(config)  # before a model is loaded
    assert not (tmp_path / "run").exists()
    summary = size(make_config(tmp_path / "run", editors=["none", "ike"], support="shipped"))
    assert summary.support.startswith("shipped ") and summary.support_cases > 500


# --- the open split ---------------------------------------------------------------------------------------------------


def test_open_test_cases_are_refused_under_any_name(tmp_path: Path) -> None:
    write_split(make_split("mine", shipped_split("open:test").cases[:3]), tmp_path / "mine.jsonl")
    with pytest.raises(UserError, match="is a case of open:test, from which nothing may learn") as error:
        open_support(SupportChoice(file=tmp_path / "mine.jsonl", overlapping="leave_out"), small_split())
    assert "\n" not in str(error.value)


def test_open_dev_is_for_learning_beside_test_only() -> None:
    dev, test = shipped_split("open:dev"), shipped_split("open:test")
    support = open_support(SupportChoice(name="open:dev"), test)
    assert len(support.cases) == len(dev.cases) and not support.left_out
    for split in (dev, shipped_split("open")):
        with pytest.raises(UserError, match=f"shares the case 'case/open/.*evaluated split '{split.name}'"):
            open_support(SupportChoice(name="open:dev"), split)


def test_documents_are_made_of_facts_that_share_nothing_with_the_evaluated_ones() -> None:
    """An overlapping fact goes before documents are made: it is neither half of one."""
    free = open_support(SupportChoice(name="documents_from_facts"), None)
    assert free.type == "document" and len(free.cases) > 300 and not free.left_out
    taken = next(c for c in free.cases if isinstance(c, DocumentCase))
    fact = next(f for f in load("shipped").facts if f.fact_prompt in taken.document.text)
    document = make_document("d/theirs", "Something else is said here.", entity=fact.subject.text)
    probe = make_probe("What is ___?", "said", document="d/theirs")
    split = make_split("e", [DocumentCase(key="case/d", document=document, probes=(probe,))])
    left = open_support(SupportChoice(name="documents_from_facts"), split)
    assert left.left_out >= 1 and left.digest != free.digest
    assert not any(fact.fact_prompt in c.document.text for c in left.cases if isinstance(c, DocumentCase))
    with pytest.raises(
        UserError, match=f"documents_from_facts: the support's fact '.*' is about '{fact.subject.text}'"
    ):
        open_support(SupportChoice(name="documents_from_facts", overlapping="refuse"), split)


def test_events_share_their_keys_the_entities_of_their_template_and_what_is_asked_in_scope() -> None:
    role = {"role": "A", "entity": {"text": "Alba Rail", "aliases": ("Alba",)}}
    case = event_case(event=make_event(roles=(role,)))
    training_data = TrainingData.of("theirs", [case])
    assert training_data.shares(case) == "the case 'case/e/merger'"
    assert training_data.shares(event_case("another")) == "the event 'e/merger'"
    question = make_fact_question(event="e/x", subject={"text": "ALBA"})
    other = EventCase(key="x", event=make_event("e/x", text="Corvo Foods moved."), facts=(question,))
    assert training_data.shares(other) == "the subject 'ALBA'"
    variant = other.model_copy(update={"facts": (question.model_copy(update={"scope": "out"}),)})
    assert training_data.shares(variant) is None
    assert TrainingData.of("facts", [make_case("Land01")]).shares(case) is None
