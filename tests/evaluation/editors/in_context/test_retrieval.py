"""Memories and what finds in them: BM25 against its formula, by meaning, and the model that decides itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from curation.files.artifact_cache import Cache
from evaluation.editors.in_context import retrieval
from evaluation.editors.in_context.retrieval import Bm25, Tfidf, fill_memory, nearest
from evaluation.editors.presets import make_editor
from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.passes import EditedProbes
from evaluation.metrics.event_questions import choice_probes, fact_probe
from evaluation.metrics.generation import EventChoice
from evaluation.models.language_model import LM
from schemas.answers import Answer, TargetScore
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.probes import ScoreProbe
from tests.support.editors import memories
from tests.support.editors.memories import PERU, country, prepared
from tests.support.events import make_event, make_fact_question, make_tendency

lm = memories.lm


support = memories.support


def test_nearest_in_order_and_above() -> None:
    scores = np.array([0.0, 2.0, 1.0, 2.0])
    assert nearest(scores, 3) == [1, 3, 2]
    assert nearest(scores, 4, above=0.0) == [1, 3, 2] and nearest(scores, 4, above=5.0) == []


@pytest.mark.parametrize("texts", [["It is."], ["???", "..."]])
def test_a_memory_without_a_word_to_look_for_is_near_to_nothing(texts: list[str]) -> None:
    for index in (Bm25(texts), Tfidf(texts, stop_words="english")):
        assert index.scores("how is it?").tolist() == [0.0] * len(texts)


def test_a_memory_is_filled_from_the_support(support: list[Case]) -> None:
    got = fill_memory([PERU], support, size=4, draw=0, who="bm25")
    assert len(got) == 4 and PERU in got and len({f.key for f in got}) == 4
    assert fill_memory([PERU], support[::-1], size=4, draw=0, who="bm25") == got
    fiji = country("Fiji", "a", "b")
    other = fill_memory([fiji], support, size=4, draw=0, who="bm25")
    assert {f.key for f in got} - {PERU.key} == {f.key for f in other} - {fiji.key}
    assert fill_memory([PERU, fiji], [], size=2, draw=0, who="bm25")
    with pytest.raises(UserError, match="bm25: a memory of 9 facts holds 1 requests"):
        fill_memory([PERU], [], size=9, draw=0, who="bm25")


class CountingEncoder:
    """Stands for a sentence encoder: vectors of letters, and how many texts each call brought."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def embed(self, texts: Sequence[str]) -> Any:
        self.calls.append(len(texts))
        counts = np.array([[text.lower().count(letter) for letter in "aeinorst"] for text in texts], np.float32)
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)


@pytest.mark.parametrize(
    ("k1", "b", "scores"), [(1.5, 0.75, [0.5545, 0.7588, 0.3961, 0.0]), (0.9, 0.4, [0.7296, 0.9985, 0.478, 0.0])]
)
def test_bm25_by_hand(k1: float, b: float, scores: list[float]) -> None:
    """Lucene's variant from its definition, over words of two letters and more without English stop words."""
    texts = ["The capital of Peru is Oslo", "The capital of Chad is Rome", "Peru Peru mountains", "nothing here shared"]
    found = Bm25(texts, k1=k1, b=b).scores("How to reach Peru, capital of Chad?")
    assert found.tolist() == pytest.approx(scores, abs=1e-4)


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


SAID = "The capital of Peru is Oslo. "


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[ScoreProbe]]:
    """Calls of the model, which says yes where the prompt speaks of Peru and the fact does."""
    calls: list[list[ScoreProbe]] = []

    def score(_: EditScorer, edited: Sequence[EditedProbes]) -> list[list[Answer]]:
        (probes,) = [[p for p in one.probes if isinstance(p, ScoreProbe)] for one in edited]
        calls.append(probes)
        return [[_answer(p, 0.1 if p.prompt.count("Peru") > 1 else -0.1) for p in probes]]

    monkeypatch.setattr(EditScorer, "score", score)
    encoder = CountingEncoder()
    monkeypatch.setattr(retrieval, "_embedder", lambda name, device: encoder)
    return calls


def _answer(probe: ScoreProbe, gap: float) -> Answer:
    values = zip(probe.targets, (-1.0, -1.0 - gap), strict=True)
    return Answer(probe=probe.id, targets=tuple(TargetScore(text=t, logprob=v, tokens=1) for t, v in values))


def test_only_what_the_model_says_matters_is_put_before_a_prompt(
    lm: LM, cache: Cache, support: list[Case], asked: list[list[ScoreProbe]]
) -> None:
    edit = prepared("scr", lm, cache, support, memory=5).edit([PERU])
    assert edit.rewrite("The capital of Peru is") == SAID + "The capital of Peru is"
    assert edit.rewrite("The capital of Chad is") == "The capital of Chad is"
    assert all(p.targets == ("yes", "no") and p.prompt.startswith("Fact: ") for call in asked for p in call)
    assert edit.notes["memory"] == 5 and edit.notes["found_by_fact_prompt"] == 1.0


def test_a_margin_asks_for_more(lm: LM, cache: Cache, support: list[Case], asked: list[list[ScoreProbe]]) -> None:
    edit = prepared("scr", lm, cache, support, memory=5, margin=0.2).edit([PERU])
    assert edit.rewrite("The capital of Peru is") == "The capital of Peru is"


def test_the_real_model_decides(lm: LM, cache: Cache, support: list[Case], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "_embedder", lambda name, device: CountingEncoder())
    editor = prepared("scr", lm, cache, support, memory=5, top=1)
    edit, prompt = editor.edit([PERU]), "The capital of Peru is"
    (decided,) = editor.matter([(PERU, prompt)])
    assert editor.matter([]) == [], "nothing was found, nothing is asked"
    assert edit.rewrite(prompt) == (SAID if decided else "") + prompt
    assert editor.components["form"] == "raw", "this tokenizer has no chat template"
