"""Our JSONL and CSV, foreign tables through a mapping: round trips, faults, columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from curation.loaders import load
from curation.loaders.jsonl_writer import line_of, write_records
from schemas.core.errors import UserError
from schemas.extras import Extra
from schemas.facts import Entity, Fact, Neighbour, Object, Relation, Source
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).map(str.strip).filter(bool)

KEYS = st.from_regex(r"\A[\w/~.-]{1,20}\Z")

NAMES = st.lists(TEXTS, max_size=3).map(tuple)

PROMPTS = TEXTS.filter(lambda t: "{}" not in t).flatmap(
    lambda t: st.integers(0, len(t)).map(lambda i: (t[:i] + "{}" + t[i:]).strip())
)

SOURCES = st.builds(Source, name=TEXTS, licence=TEXTS, url=st.none() | TEXTS, item=st.none() | TEXTS, date=st.none())

PAIRS = st.tuples(TEXTS, TEXTS).filter(lambda p: p[0].casefold() != p[1].casefold())


@st.composite
def facts(draw: st.DrawFn) -> Fact:
    old, new = draw(PAIRS)
    change = draw(st.sampled_from(["counterfactual", "temporal", "none"]))
    return Fact(
        key=draw(KEYS),
        subject=Entity(text=draw(TEXTS), aliases=draw(NAMES), wikidata=draw(st.none() | st.just("Q1"))),
        relation=Relation(id=draw(KEYS), label=draw(st.text(max_size=5))),
        prompt=draw(PROMPTS),
        old=Object(text=old, aliases=draw(NAMES), datatype=draw(st.sampled_from(["entity", "date"]))),
        new=None if change == "none" else Object(text=new, aliases=draw(NAMES)),
        paraphrases=draw(NAMES),
        neighbour_prompts=draw(NAMES),
        change=change,
        changed_on=draw(st.none() | st.just("2021-12")),
        source=draw(SOURCES),
    )


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(fact=facts().filter(lambda fact: fact.new is None or not {*fact.old.names} & {*fact.new.names}))
def test_a_fact_goes_to_a_line_and_comes_back(fact: Fact, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "one.jsonl"
    path.write_bytes(line_of(fact).encode() + b"\n")
    import_result = load(path, "jsonl")
    assert not import_result.problems
    assert import_result.facts == (fact,) and import_result.facts[0].id == fact.id


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(many=st.lists(facts(), min_size=1, max_size=5, unique_by=lambda f: f.key))
def test_files_come_back_whole_in_order(many: list[Fact], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "many.jsonl"
    assert write_records(many, path) == len(many)
    assert list(load(path, "jsonl").facts) == many


def test_every_other_kind_comes_back_too(peru: Fact, tmp_path: Path) -> None:
    question = ScriptQuestion(key="f/peru/q1", fact=peru.key, text="How to go?")
    prompt = ScriptPrompt(key="p", fact=peru.key, text="How to go?\nStep 1: To", offset=22, targets=("Lima",))
    records = [
        peru, question, Script(key="s", question=question.key, steps=("Walk",)), prompt,
        Neighbour(key="n", edit=peru.key, fact="f/x", how="near_subject", distance=0.5, measure="m"),
        Extra.holding("e", {"é": [1, None, "\u2028"]}, subject_key=peru.key, name="x"),
    ]  # fmt: skip
    write_records(records, tmp_path / "f.jsonl")
    import_result = load(tmp_path / "f.jsonl", "jsonl")
    assert [*import_result.facts, *import_result.records] == records and not import_result.problems
    (tmp_path / "g.jsonl").write_text('{"kind": "colour", "key": "x"}\n')
    assert "unknown kind 'colour'" in load(tmp_path / "g.jsonl", "jsonl").problems[0].what


def test_a_real_file_goes_round(shared: Path, tmp_path: Path) -> None:
    import_result = load(shared / "data" / "wikifactdiff" / "shape_from_templama.jsonl")
    write_records([*import_result.facts, *import_result.records], tmp_path / "f.jsonl")
    reloaded = load(tmp_path / "f.jsonl", "jsonl")
    assert {r.id for r in (*reloaded.facts, *reloaded.records)} == {
        r.id for r in (*import_result.facts, *import_result.records)
    }


def test_a_file_that_cannot_be_written_leaves_nothing(peru: Fact, tmp_path: Path) -> None:
    def dies() -> Any:
        yield peru
        raise OSError(28, "No space left on device")

    (tmp_path / "f.jsonl").write_text("old")
    with pytest.raises(UserError, match=r"f\.jsonl: cannot be written: No space left on device"):
        write_records(dies(), tmp_path / "f.jsonl")
    assert [p.name for p in tmp_path.iterdir()] == ["f.jsonl"] and (tmp_path / "f.jsonl").read_text() == "old"
