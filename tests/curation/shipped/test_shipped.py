"""The data that we ship is what its documentation says."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

import curation.shipped as shipped
from curation.loaders import load
from curation.shipped import (
    FOLDER,
    SHIPPED,
    SPLITS,
    config_path,
    demonstrations_split,
    named_split,
    read_config,
    reserved_case,
    shipped_split,
    verified_text,
)
from curation.shipped.from_facts import documents_from_facts, events_from_facts, pool_digest, pool_from_facts
from curation.splits.split_file import Split
from schemas.core.errors import DataError, UserError
from schemas.documents.document import BLANK, contains_words, is_literal
from schemas.facts import Fact
from schemas.text.mentions import find
from tests.support import ROOT
from tests.support.facts import make_fact


@pytest.fixture(scope="module")
def facts() -> tuple[Fact, ...]:
    return load("shipped").require()


def test_facts_are_whole_and_leak_nothing(facts: tuple[Fact, ...]) -> None:
    for fact in facts:
        assert fact.new is not None and fact.source.licence == "CC0-1.0"
        assert len(fact.paraphrases) >= 2, fact.key
        assert (fact.change == "temporal") == (fact.changed_on is not None), fact.key
        for text in (fact.fact_prompt, *fact.paraphrases):
            assert find(text, fact.subject), (fact.key, text)
            for thing in (fact.old, fact.new):
                assert not find(text, thing), (fact.key, text)


def test_corpus_is_what_its_manifest_says() -> None:
    manifest = json.loads((SHIPPED / "corpus.txt").with_suffix(".json").read_text(encoding="utf-8"))
    text = (SHIPPED / "corpus.txt").read_text(encoding="utf-8")
    assert hashlib.sha256(text.encode()).hexdigest() == manifest["sha256"]
    assert manifest["tokens"] >= 30_000 and manifest["documents"] == len(text.strip().split("\n\n"))
    assert len(text.split()) > 20_000
    assert "SmolLM2" in manifest["made_by"]


def test_our_configurations_are_found_in_any_folder_and_never_instead_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rule = Path("configs/rules/scedit.toml")
    assert config_path(rule).read_bytes() == (ROOT / rule).read_bytes()
    assert read_config(rule)["rule"]["thresholds"], "read as the command reads it"
    for other in ("configs/nope.toml", "configs/../facts.jsonl", "mini.toml", "a/configs/mini.toml"):
        assert config_path(Path(other)) == Path(other)
    assert config_path(tmp_path / "configs/mini.toml") == tmp_path / "configs/mini.toml"
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs/mini.toml").write_text("x = 1", "utf-8")
    assert config_path(Path("configs/mini.toml")) == Path("configs/mini.toml")


def relations(split: Split) -> set[str]:
    return {case.fact.relation.id for case in split.cases}


def subjects(split: Split) -> set[str]:
    facts = [f for case in split.cases for f in (case.fact, *(n.fact for n in case.neighbours))]
    return {name for fact in facts for name in fact.subject.compared_names}


def test_every_name_is_found() -> None:
    by_name = {name: shipped_split(name) for name in SPLITS}
    assert {name: (split.name, split.version) for name, split in by_name.items()} == {
        "mini": ("mini", "1.1.0"),
        "events": ("events", "1.0.0"),
        "documents": ("documents", "1.0.0"),
        "hops": ("hops", "2.0.0"),
        "open": ("open", "1.1.0"),
        "open:dev": ("open-dev", "1.1.0"),
        "open:test": ("open-test", "1.1.0"),
    }
    assert named_split("open:test") is by_name["open:test"]
    with pytest.raises(UserError, match="no split 'open:train' comes with the program; allowed: mini, open, open:dev"):
        shipped_split("open:train")


def test_the_parts_are_the_whole_and_share_nothing() -> None:
    release, dev, test = shipped_split("open"), shipped_split("open:dev"), shipped_split("open:test")
    assert sorted(c.key for c in (*dev.cases, *test.cases)) == [c.key for c in release.cases]
    assert not relations(dev) & relations(test) and not subjects(dev) & subjects(test)
    for split in (release, dev, test):
        assert {c.fact.change for c in split.cases} == {"counterfactual", "temporal"}
    assert dev.header["part_of"] == "open@1.1.0" and "dev" not in dev.header


def test_mini_has_the_first_four_cases_of_each_relation_of_dev() -> None:
    mini, dev = shipped_split("mini"), shipped_split("open:dev")
    assert set(mini.cases) <= set(dev.cases)
    counts = Counter(case.fact.relation.id for case in mini.cases)
    assert set(counts) == {case.fact.relation.id for case in dev.cases} and set(counts.values()) == {4}
    assert mini.header["part_of"] == "open@1.1.0" and mini.header["judged_by"] == dev.header["judged_by"]


def test_the_open_split_is_what_its_page_says() -> None:
    """What the pipeline checks, once more and independently; what every temporal fact names as its source."""
    cases = shipped_split("open").cases
    kinds = Counter(case.fact.change for case in cases)
    assert kinds["counterfactual"] >= 300 and kinds["temporal"] >= 100 and len(shipped_split("open:dev").cases) >= 60
    by_relation = Counter((case.fact.change, case.fact.relation.id) for case in cases)
    assert len(by_relation) >= 40 and max(by_relation.values()) <= 0.08 * len(cases)
    texts = [prompt.text for case in cases for prompt in case.prompts]
    assert len(texts) == len(set(texts))
    for case in cases:
        assert len(case.prompts) >= 3 and sum(bool(n.prompts) for n in case.neighbours) >= 2, case.key
        assert case.fact.change == "counterfactual" or (case.fact.changed_on and case.fact.source.url), case.key
        for prompt in case.prompts:
            assert find(prompt.targets[0], case.fact.old) and find(prompt.targets[1], case.fact.new_object)
            assert find(prompt.text, case.fact.subject) and prompt.text == prompt.text.rstrip()
            for thing in (case.fact.old, case.fact.new_object):
                assert not find(prompt.text, thing), (prompt.key, thing.text)
        for neighbour in case.neighbours:
            assert neighbour.fact.subject.text != case.fact.subject.text
            same = neighbour.fact.old.text == case.fact.old.text
            assert same or case.fact.change == "temporal", case.key
            assert not [p.key for p in neighbour.prompts if find(p.text, neighbour.fact.old)], case.key


def test_what_nothing_may_learn_from() -> None:
    cases = shipped_split("open:test").cases
    assert reserved_case(cases[-1:]) == cases[-1].key
    assert reserved_case([*shipped_split("open:dev").cases, *demonstrations_split().cases]) is None
    assert reserved_case([]) is None


def copy(folder: Path) -> Path:
    for name in ((FOLDER / "open.jsonl.gz").name, "checksums.sha256"):
        shutil.copy((FOLDER / "open.jsonl.gz").with_name(name), folder / name)
    return folder / (FOLDER / "open.jsonl.gz").name


@pytest.mark.parametrize("number", [0, 5, -2])
def test_any_change_is_noticed(tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path = copy(tmp_path)
    text = gzip.decompress(path.read_bytes()).decode("utf-8")
    lines = text.split("\n")
    lines[number] = lines[number].replace("open/", "open?", 1)
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    monkeypatch.setitem(shipped._FILES, "open", str(path))
    with pytest.raises(DataError, match="the shipped split was changed.*install the package again"):
        shipped._whole_split.__wrapped__("open")


@pytest.mark.parametrize("fault", ["cut off", "no gzip", "no list", "missing", "not listed"])
def test_a_damaged_installation_is_told_in_one_sentence(tmp_path: Path, fault: str) -> None:
    path = copy(tmp_path)
    listing = path.with_name("checksums.sha256")
    if fault == "cut off":
        path.write_bytes(path.read_bytes()[:-9_000])
    elif fault == "no gzip":
        path.write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    elif fault == "not listed":
        listing.write_text("\n", encoding="utf-8")
    else:
        (listing if fault == "no list" else path).unlink()
    with pytest.raises(DataError, match="install the package again") as error:
        verified_text(path)
    assert "\n" not in str(error.value)


FACTS = load("shipped").require()
CASES = documents_from_facts(FACTS)
PROBES = [(case, probe) for case in CASES for probe in case.probes]


def test_every_document_has_probes_of_three_levels_that_are_what_they_say() -> None:
    assert all({p.level for p in case.probes} == {1, 2, 3} for case in CASES)
    assert all(is_literal(probe, case.document) == (probe.level == 1) for case, probe in PROBES)
    assert all(probe.tags for _, probe in PROBES if probe.level == 3)
    assert all(contains_words(case.document.text, probe.answer) for case, probe in PROBES)
    assert not [p.query for _, p in PROBES for answer in p.answers if contains_words(p.query, answer)]
    assert not [p.query for _, p in PROBES if re.search(r"[{}]|the the |  ", p.query)]
    assert 200 < sum("multi_hop" in probe.tags for _, probe in PROBES) < 300


def test_a_document_goes_by_the_names_of_both_its_subjects() -> None:
    for case in CASES:
        about = [f for f in FACTS if f"{f.fact_prompt} {f.new_object.text}." in case.document.text]
        names = {name for fact in about for name in fact.subject.names}
        assert names <= set(case.document.names) and len(case.document.names) == len(set(case.document.names))


def test_two_facts_of_one_relation_make_none() -> None:
    one, other = make_fact("France", "Paris", "Lima"), make_fact("Peru", "Lima", "Oslo")
    assert one.relation.id == other.relation.id
    assert documents_from_facts([one, other]) == ()


EVENT_CASES = events_from_facts(load("shipped").require())


def test_two_thirds_of_the_temporal_facts_are_events_with_questions_of_all_kinds() -> None:
    facts = [q for c in EVENT_CASES for q in c.facts]
    assert 85 <= len(EVENT_CASES) <= 100 and sum(q.scope == "in" for q in facts) > 300 < sum(
        q.scope == "out" for q in facts
    )
    assert sum(q.unknown for q in facts) > 60 and all(q.scope == "in" for q in facts if q.unknown)
    assert all({q.scope for q in c.tendencies} >= {"in"} for c in EVENT_CASES)
    assert sum({q.scope for q in c.tendencies} == {"in", "out"} for c in EVENT_CASES) > 0.9 * len(EVENT_CASES)
    assert all(c.event.origin == "fact" and c.event.source.licence == "CC0-1.0" for c in EVENT_CASES)
    assert not [c.event.text for c in EVENT_CASES if re.search(r"[{}]|the the |  ", c.event.text)]
    assert not [
        q.text for c in EVENT_CASES for q in (*c.facts, *c.tendencies) if re.search(r"[{}]|the the |  ", q.text)
    ]


def test_a_question_out_of_scope_is_in_scope_of_no_event_of_the_same_type() -> None:
    inner_questions = {
        (c.event.type, q.text) for c in EVENT_CASES for q in (*c.facts, *c.tendencies) if q.scope == "in"
    }
    out_of_scope = {(c.event.type, q.text) for c in EVENT_CASES for q in (*c.facts, *c.tendencies) if q.scope == "out"}
    assert out_of_scope and not inner_questions & out_of_scope


POOL = pool_from_facts(FACTS)


def test_every_fact_is_asked_for_twice_and_no_query_holds_its_answer() -> None:
    assert Counter(q.item.rpartition("/")[2] for q in POOL) == {"cloze": 835, "question": 835}
    assert len({q.item for q in POOL}) == len({q.query for q in POOL}) == 1670
    assert not [q.query for q in POOL for answer in q.answers if contains_words(q.query, answer)]
    assert all((BLANK in q.query) == q.item.endswith("/cloze") for q in POOL)


def test_the_old_object_is_the_answer_with_its_aliases() -> None:
    by_item = {q.item: q for q in POOL}
    capital = by_item["facts/cf/P36/france/question"]
    assert capital.query == "Which city is the capital of France?" and capital.answers == ("Paris", "City of Light")
    assert by_item["facts/cf/P36/france/cloze"].query == "The capital of France is ___."


def test_a_pools_digest_is_that_of_its_questions_in_any_order() -> None:
    assert pool_digest(POOL) == pool_digest(POOL[::-1]) != pool_digest(POOL[1:])
