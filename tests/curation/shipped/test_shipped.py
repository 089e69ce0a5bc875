"""The data that we ship is what its documentation says."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

from curation.loaders import load
from curation.shipped import SHIPPED, config_path, mini_split, read_config
from schemas.cases import Case
from schemas.facts import Fact
from schemas.scripts import MAX_STEPS
from schemas.text.mentions import find
from tests.support import ROOT

KNOWN = {"P36", "P37", "P103", "P17"}  # capitals, languages, countries of landmarks


@pytest.fixture(scope="module")
def facts() -> tuple[Fact, ...]:
    return load("shipped").require()


@pytest.fixture(scope="module")
def cases() -> tuple[Case, ...]:
    return mini_split().cases


def test_facts_are_as_many_as_said(facts: tuple[Fact, ...]) -> None:
    kinds = Counter(f.change for f in facts)
    counterfactual = [f for f in facts if f.change == "counterfactual"]
    assert kinds["counterfactual"] >= 300 and kinds["temporal"] >= 60
    assert len({f.relation.id for f in counterfactual}) >= 12
    assert sum(f.relation.id in KNOWN for f in counterfactual) >= 150
    assert all(f.relation.id[0] == "P" and f.relation.id[1:].isdigit() for f in facts)


def test_facts_are_whole_and_leak_nothing(facts: tuple[Fact, ...]) -> None:
    for fact in facts:
        assert fact.new is not None and fact.source.licence == "CC0-1.0"
        assert len(fact.paraphrases) >= 2, fact.key
        assert (fact.change == "temporal") == (fact.changed_on is not None), fact.key
        for text in (fact.fact_prompt, *fact.paraphrases):
            assert find(text, fact.subject), (fact.key, text)
            for thing in (fact.old, fact.new):
                assert not find(text, thing), (fact.key, text)


def test_new_objects_are_of_the_relation_and_spread(facts: tuple[Fact, ...]) -> None:
    counts = Counter(f.new.text for f in facts if f.change == "counterfactual" and f.new)
    assert max(counts.values()) <= 6
    shared = Counter((f.relation.id, f.old.text) for f in facts)
    assert sum(n >= 4 for n in shared.values()) >= 30, "neighbours need facts that share an old object"


def test_an_object_has_the_same_aliases_everywhere(facts: tuple[Fact, ...]) -> None:
    names: dict[tuple[str, str], tuple[str, ...]] = {}
    for fact in facts:
        assert names.setdefault((fact.relation.id, fact.old.text), fact.old.aliases) == fact.old.aliases, fact.key


def test_corpus_is_what_its_manifest_says() -> None:
    manifest = json.loads((SHIPPED / "corpus.txt").with_suffix(".json").read_text(encoding="utf-8"))
    text = (SHIPPED / "corpus.txt").read_text(encoding="utf-8")
    assert hashlib.sha256(text.encode()).hexdigest() == manifest["sha256"]
    assert manifest["tokens"] >= 30_000 and manifest["documents"] == len(text.strip().split("\n\n"))
    assert len(text.split()) > 20_000
    assert "SmolLM2" in manifest["made_by"]


def test_mini_is_as_large_as_said(cases: tuple[Case, ...]) -> None:
    kinds = Counter(c.fact.change for c in cases)
    assert kinds["counterfactual"] >= 40 and kinds["temporal"] >= 15
    for case in cases:
        assert len(case.questions) == len(case.prompts) == 4, case.key
        assert sum(bool(n.prompts) for n in case.neighbours) >= 3, case.key
        assert len(case.fact.paraphrases) >= 2


def test_minis_prompts_keep_their_secrets(cases: tuple[Case, ...]) -> None:
    """What the pipeline checks, once more and independently."""
    for case in cases:
        assert case.fact.new is not None
        for prompt in case.prompts:
            assert prompt.targets == (case.fact.old.text, case.fact.new.text)
            assert prompt.step is not None and 2 <= prompt.step <= MAX_STEPS
            for thing in (case.fact.old, case.fact.new):
                assert not find(prompt.text, thing), (prompt.key, thing.text)
            assert case.fact.subject.text in prompt.text
            assert prompt.text == prompt.text.rstrip()
        for neighbour in case.neighbours:
            same = neighbour.fact.old.text == case.fact.old.text
            assert same == (case.fact.change == "counterfactual")
            for prompt in neighbour.prompts:
                for thing in (neighbour.fact.old, case.fact.new, case.fact.subject):
                    assert not find(prompt.text, thing), (prompt.key, thing.text)


def test_texts_of_mini_are_not_repeated(cases: tuple[Case, ...]) -> None:
    texts = Counter(p.text for c in cases for p in c.prompts) + Counter(
        p.text for c in cases for n in c.neighbours for p in n.prompts
    )
    assert max(texts.values()) == 1


def test_the_files_are_where_the_package_looks() -> None:
    for path in (
        SHIPPED / "facts.jsonl",
        SHIPPED / "corpus.txt",
        SHIPPED / "mini/mini.jsonl",
        (SHIPPED / "mini/mini.jsonl").parent / "source.jsonl",
    ):
        assert path.is_file(), path
    assert ((SHIPPED / "mini/mini.jsonl").parent / "README.md").is_file()


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
