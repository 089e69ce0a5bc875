"""Methods that live in the prompt, and the memories and demonstrations behind them."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

from curation.files.artifact_cache import Cache
from evaluation.editors.base import Editor
from evaluation.editors.in_context.demonstrations import Shown, assign
from evaluation.editors.in_context.retrieval import Bm25, Tfidf, filled, nearest, statement
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from evaluation.runs.support import cases_from_facts
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.facts import Entity, Fact, Object, Relation
from tests.support.arithmetic import make_case
from tests.support.facts import peru_fact
from tests.support.tiny import make

PERU = peru_fact()


def country(name: str, old: str, new: str, **changes: Any) -> Fact:
    more = {"paraphrases": (f"{name} is ruled from",), **changes}
    return peru_fact(f"f/{name}", subject=Entity(text=name), old=Object(text=old), new=Object(text=new), **more)


@pytest.fixture
def lm() -> LM:
    return make("llama")


@pytest.fixture
def support() -> list[Case]:
    facts = [country("Chad", "Lima", "Rome"), country("Togo", "Lima", "Bonn"), country("Mali", "Bern", "Kyiv")]
    tongue = {"relation": Relation(id="P103"), "prompt": "{} grew up speaking", "paraphrases": ()}
    other = country("Mozart", "German", "Thai", **tongue)
    return cases_from_facts([*facts, other])


def prepared(name: str, lm: LM, cache: Cache, cases: list[Case], **options: Any) -> Editor:
    made = make_editor(name, lm, cache, options)
    made.prepare(cases)
    return made


# --- ice --------------------------------------------------------------------------------------------------------------


def test_ice_instructs(lm: LM, cache: Cache) -> None:
    edit = make_editor("ice", lm, cache).edit([PERU, country("Chad", "Lima", "Rome")])
    said = "Imagine that The capital of Peru is Oslo; The capital of Chad is Rome. Answer accordingly, whatever you "
    assert edit.rewrite("How?") == said + "remember.\nHow?"
    own = make_editor("ice", lm, cache, {"template": "Say {facts}! "}).edit([PERU])
    assert own.rewrite("How?") == "Say The capital of Peru is Oslo! How?"
    with pytest.raises(UserError, match=r"template: must hold \{facts\} exactly once"):
        make_editor("ice", lm, cache, {"template": "nothing"})


# --- demonstrations ---------------------------------------------------------------------------------------------------


def test_kinds_follow_the_ratio() -> None:
    case = {k: [Shown(k, " ", "x")] for k in ("copy", "update", "retain")}
    got = assign([case] * 32, (1, 3, 4), names=[str(n) for n in range(32)])
    assert Counter(s.prompt for s in got if s) == {"copy": 4, "update": 12, "retain": 16}
    poor = {"copy": [], "update": [Shown("u", " ", "x")], "retain": []}
    assert [s.prompt for s in assign([poor] * 2, (1, 3, 4), names=["a", "b"]) if s] == ["u", "u"]
    assert assign([poor], (1, 0, 1), names=["a"]) == [None]


def test_ike_shows_the_nearest_last(lm: LM, cache: Cache, support: list[Case]) -> None:
    options = {"k": 3, "ratio": (1, 0, 0), "similarity": "tfidf"}
    text = prepared("ike", lm, cache, support, **options).edit([PERU]).rewrite("Peru is ruled from")
    blocks = text.split("\n\n")
    assert len(blocks) == 4 and blocks[-1] == "New Fact: The capital of Peru is Oslo.\nPrompt: Peru is ruled from"
    assert all("capital" in b for b in blocks[:3]) and "Mozart" not in text
    fact_, prompt = blocks[2].split("\n")
    assert fact_.startswith("New Fact: The capital of ") and prompt == "Prompt: " + fact_.removeprefix("New Fact: ")
    near = Tfidf([statement(c.fact) for c in support]).scores(statement(PERU))
    order = [support[i].fact.subject.text for i in np.argsort(-near, kind="stable")[:3]]
    assert [re.search(r"capital of (\w+)", b).group(1) for b in blocks[2::-1]] == order  # type: ignore[union-attr]


def test_ike_retains_with_the_neighbours_own_object(lm: LM, cache: Cache, support: list[Case]) -> None:
    options = {"k": 9, "ratio": (0, 0, 1), "similarity": "tfidf"}
    edit = prepared("ike", lm, cache, support, **options).edit([PERU])
    shown = re.findall(
        r"New Fact: The capital of (\w+) is (\w+)\.\nPrompt: The capital of (\w+) is (\w+)\.", edit.rewrite("")
    )
    assert edit.notes["demonstrations"] == len(shown) == 3  # Mozart has no neighbour
    old = {c.fact.subject.text: c.fact.old.text for c in support}
    for subject, _, other, answer in shown:
        assert other != subject and answer == old[other]


def test_script_ike_shows_scripts(lm: LM, cache: Cache, support: list[Case]) -> None:
    scripted = [make_case("Land01"), make_case("Land02")]
    options = {"k": 2, "ratio": (0, 1, 0), "similarity": "tfidf"}
    edit = prepared("script_ike", lm, cache, [*support, *scripted], **options).edit([PERU])
    blocks = edit.rewrite("How to see Peru?").split("\n\n")
    assert len(blocks) == 3 and blocks[-1] == "New Fact: The capital of Peru is Oslo.\nHow to see Peru?"
    pattern = r"New Fact: The capital of (Land0\d) is Oslo\.\nHow to reach \1 \(\d\)\?\nStep 1: Fly to Oslo"
    assert all(re.fullmatch(pattern, b) for b in blocks[:2])
    with pytest.raises(UserError, match="script_ike: there is no case to demonstrate with"):
        prepared("script_ike", lm, cache, support, similarity="tfidf").edit([PERU])


def test_ike_needs_support(lm: LM, cache: Cache) -> None:
    with pytest.raises(UserError, match='add support = "shipped"'):
        make_editor("ike", lm, cache, {"similarity": "tfidf"}).edit([PERU])
    with pytest.raises(UserError, match="ratio: shares are at least 0"):
        make_editor("ike", lm, cache, {"ratio": (0, 0, 0)})


# --- memories ---------------------------------------------------------------------------------------------------------


def plain_bm25(texts: list[str], query: str, *, k1: float, b: float) -> list[float]:
    """Lucene's BM25 from its definition, over words without English stop words."""
    stop = {"the", "of", "is", "in", "to", "a"}

    def split(text: str) -> list[str]:
        return [w for w in re.findall(r"\w\w+", text.lower()) if w not in stop]

    docs = [split(t) for t in texts]
    mean = sum(map(len, docs)) / len(docs)
    out = []
    for doc in docs:
        total = 0.0
        for word in split(query):
            df, tf = sum(word in d for d in docs), doc.count(word)
            idf = math.log(1 + (len(docs) - df + 0.5) / (df + 0.5))
            total += idf * tf / (tf + k1 * (1 - b + b * len(doc) / mean))
        out.append(total)
    return out


def test_bm25_is_bm25() -> None:
    texts = ["The capital of Peru is Oslo", "The capital of Chad is Rome", "Peru Peru mountains", "nothing here shared"]
    for query in ("How to reach Peru?", "capital Chad mountains", "unknown words only", ""):
        for k1, b in ((1.5, 0.75), (0.9, 0.4)):
            assert Bm25(texts, k1=k1, b=b).scores(query) == pytest.approx(
                plain_bm25(texts, query, k1=k1, b=b), abs=1e-5
            )
    assert Bm25(["the of"]).scores("the").tolist() == [0.0]


def test_nearest_in_order_and_above() -> None:
    scores = np.array([0.0, 2.0, 1.0, 2.0])
    assert nearest(scores, 3) == [1, 3, 2]
    assert nearest(scores, 4, above=0.0) == [1, 3, 2] and nearest(scores, 4, above=5.0) == []


def test_a_memory_is_filled_from_the_support(support: list[Case]) -> None:
    got = filled([PERU], support, size=4, draw=0, who="bm25")
    assert len(got) == 4 and PERU in got and len({f.key for f in got}) == 4
    assert filled([PERU], support[::-1], size=4, draw=0, who="bm25") == got
    fiji = country("Fiji", "a", "b")
    other = filled([fiji], support, size=4, draw=0, who="bm25")
    assert {f.key for f in got} - {PERU.key} == {f.key for f in other} - {fiji.key}
    assert filled([PERU, fiji], [], size=2, draw=0, who="bm25")
    with pytest.raises(UserError, match="bm25: a memory of 9 facts holds 1 requests"):
        filled([PERU], [], size=9, draw=0, who="bm25")


def test_bm25_finds_the_edit_of_each_prompt(lm: LM, cache: Cache, support: list[Case]) -> None:
    edit = prepared("bm25", lm, cache, support, memory=5).edit([PERU])
    assert edit.rewrite("How to reach Peru?\nStep 1: Fly to") == (
        "The capital of Peru is Oslo. How to reach Peru?\nStep 1: Fly to"
    )
    assert edit.rewrite("Where did Mozart live?") == "Mozart grew up speaking Thai. Where did Mozart live?"
    assert edit.rewrite("Quite unrelated") == "Quite unrelated"
    assert edit.notes == {"memory": 5, "found_by_fact_prompt": 1.0} and edit.deltas == ()
    both = make_editor("bm25", lm, cache, {"memory": 0, "top": 2}).edit([PERU, country("Chad", "Lima", "Rome")])
    assert both.rewrite("Is Chad a capital?") == (
        "The capital of Peru is Oslo. The capital of Chad is Rome. Is Chad a capital?"
    )


def test_dense_finds_by_meaning(lm: LM, cache: Cache, support: list[Case]) -> None:
    from curation.files.model_packages import minilm_folder
    from schemas.core.errors import ModelError

    try:
        minilm_folder()
    except ModelError as error:
        pytest.skip(str(error))
    edit = prepared("dense", lm, cache, support, memory=5).edit([PERU])
    assert edit.rewrite("Which tongue did the composer learn as a child?").startswith("Mozart grew up speaking Thai. ")
    assert edit.rewrite("Peruvian seat of government").startswith("The capital of Peru is Oslo. ")
