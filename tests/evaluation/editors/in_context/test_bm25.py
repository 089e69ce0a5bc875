"""BM25 against the formula."""

from __future__ import annotations

import math
import re

import pytest

from curation.files.artifact_cache import Cache
from evaluation.editors.in_context.retrieval import Bm25
from evaluation.editors.presets import make_editor
from evaluation.metrics.event_questions import choice_probes, fact_probe
from evaluation.metrics.generation import EventChoice
from evaluation.models.language_model import LM
from schemas.cases import Case
from schemas.core.errors import UserError
from tests.support.editors import memories
from tests.support.editors.memories import PERU, country, prepared
from tests.support.events import make_event, make_fact_question, make_tendency

lm = memories.lm
support = memories.support


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


EVENTS = [
    make_event("e/1", "Alba Rail merged with Brenta Rail."),
    make_event("e/2", "Corvo Foods moved its headquarters to Turin."),
    make_event("e/3", "Dora Bank answered a question of its regulator."),
]


@pytest.mark.parametrize(
    ("question", "result"),
    [("Who runs Brenta Rail?", 0), ("Where are the headquarters of Corvo?", 1), ("How high is Mont Blanc?", None)],
)
def test_the_split_is_the_memory_of_events_and_the_question_alone_looks_it_up(
    question: str, result: int | None, lm: LM, cache: Cache
) -> None:
    """Not the words around it, "question" and "answer", which the third event holds."""
    method = make_editor("bm25", lm, cache, {"memory": "split"})
    method.read_split(EVENTS)
    edit = method.edit(EVENTS[:1])
    assert edit.notes == {"memory": 3}
    before = "" if result is None else f"Event: {EVENTS[result].text}\n"
    questions = make_fact_question(question, key="q"), make_tendency(question, key="t")
    prompts = [fact_probe(questions[0], EventChoice()).prompt, choice_probes(questions[1], EventChoice())[1].prompt]
    assert [edit.rewrite(prompt) for prompt in prompts] == [before + prompt for prompt in prompts]


def test_a_memory_of_events_holds_the_request_and_is_not_filled_with_facts(lm: LM, cache: Cache) -> None:
    method = make_editor("bm25", lm, cache, {"memory": "split"})
    method.read_split(EVENTS[:2])
    assert method.edit(EVENTS[2:]).notes == {"memory": 3}
    edit = make_editor("bm25", lm, cache, {"memory": 0}).edit(EVENTS[:1])
    assert edit.rewrite("Question: Who runs Brenta?\nAnswer:").startswith("Event: Alba Rail merged")
    with pytest.raises(UserError, match=r'editors.bm25.params.memory: .*not filled with facts; set it to "split"'):
        make_editor("bm25", lm, cache).edit(EVENTS[:1])


def test_the_split_may_be_the_memory_of_facts_too(lm: LM, cache: Cache) -> None:
    method = make_editor("bm25", lm, cache, {"memory": "split"})
    method.read_split([PERU, country("Norway", "Oslo", "Lima")])
    assert not method.wants_support(method.params.model_dump()) and method.wants_split(method.params.model_dump())
    assert method.edit([PERU]).notes == {"memory": 2, "found_by_fact_prompt": 1.0}
