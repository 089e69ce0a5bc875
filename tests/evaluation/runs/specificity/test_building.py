"""Candidates against plain greedy writing; draws by seed; the prompt that was held out; what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.files.artifact_cache import Cache
from curation.shipped.from_facts import PoolQuestion, pool_digest
from evaluation.inference.answering import ModelScorer
from evaluation.runs import specificity_building as building
from evaluation.runs.specificity_building import (
    HELD_OUT,
    PROMPTS,
    Candidates,
    KnownAnswer,
    Pool,
    build_set,
    draw_items,
    find_candidates,
)
from schemas.core.errors import UserError
from schemas.documents.document import BLANK
from tests.support.arithmetic import ArithmeticLM
from tests.support.documents.pools import asked_first, begins_with, near_sighted
from tests.support.facts import SOURCE

QUESTIONS = [PoolQuestion(f"q{n}", f"Where is lake {n}?", (f"Land {n}", f"Isle {n}")) for n in range(400)]


def numbered(count: int, *, model: str = "m", revision: str = "1") -> Candidates:
    known = {f"q{n}": KnownAnswer(f"Land {n}", 1.0, 2) for n in range(count)}
    return Candidates(model, revision, known, (count,) * 3)


def test_candidates_are_what_plain_greedy_writing_begins_with_under_all_three(tmp_path: Path) -> None:
    lm = near_sighted()
    pool = asked_first(lm)
    right = {q.item: [a for a in q.answers if all(begins_with(lm, q, prompt, a) for prompt in PROMPTS)] for q in pool}
    found = find_candidates(ModelScorer(lm), pool, Cache(tmp_path))
    assert {item: known.answer for item, known in found.known.items()} == {i: a[0] for i, a in right.items() if a}
    assert 0 < len(found.known) < len(pool), "some are known and some are not"
    left = [
        sum(any(all(begins_with(lm, q, p, a) for p in PROMPTS[: n + 1]) for a in q.answers) for q in pool)
        for n in range(3)
    ]
    assert list(found.left) == left
    built = build_set(ModelScorer(lm), found, Pool(tuple(pool), SOURCE), list(found.known), seed=0)
    hits = [begins_with(lm, q, HELD_OUT, found.known[q.item].answer) for q in pool if q.item in found.known]
    assert built.held_out.value == sum(hits) / len(hits) and built.held_out.n == len(hits)


def test_what_was_measured_is_kept_by_model_and_pool(tmp_path: Path) -> None:
    cache, scorer, told = Cache(tmp_path), ArithmeticLM(), []
    one = find_candidates(scorer, QUESTIONS, cache, on_progress=lambda done, of: told.append((done, of)))
    assert told == [(256, 400), (400, 400)]
    asked = len(scorer.calls)
    assert find_candidates(scorer, QUESTIONS, cache) == one and len(scorer.calls) == asked
    find_candidates(ArithmeticLM(revision="2"), QUESTIONS, cache)
    assert find_candidates(scorer, QUESTIONS[:9], cache).left[0] <= 9 and len(scorer.calls) > asked


def test_a_cloze_gives_its_beginning() -> None:
    probe = building.pool_probe(PoolQuestion("a", f"Lima is in {BLANK}.", ("Peru",)), PROMPTS[2], ["Peru"])
    assert (probe.prompt, probe.separator, probe.instruction) == ("Q: Lima is in ___.\nA: Lima is in", " ", "")


def test_the_draw_depends_on_the_seed_alone_and_a_core_is_common() -> None:
    more, fewer = numbered(300), numbered(200, model="n")
    draws = {seed: draw_items([more, fewer], size=20, seed=seed) for seed in (0, 1)}
    assert draws[0] != draws[1] and set(draws[0]) | set(draws[1]) <= set(fewer.known)
    assert draw_items([fewer, more], size=20, seed=0) == draws[0] == draw_items([fewer], size=20, seed=0)
    assert draw_items([more], size=30, seed=0)[:20] == draw_items([more], size=20, seed=0)
    alone = [item for item in draw_items([more], size=300, seed=0) if item in fewer.known]
    assert alone[:20] == draws[0], "another model takes questions away and puts none in another's place"


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ([numbered(3)], "the model answers 3 questions of the pool under all 3 prompts, and 4 are wanted"),
        ([numbered(3), numbered(9)], "all 2 models answer 3 questions"),
        ([numbered(0)], "the model answers 0 questions"),
    ],
)
def test_too_small_a_pool_is_one_sentence(found: list[Candidates], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence) as error:
        draw_items(found, size=4, seed=0)
    assert ("ask for 3 or fewer" in str(error.value)) == ("3 questions" in sentence)


def test_a_set_says_what_it_rests_on() -> None:
    found, pool = numbered(12, model="Models/My model", revision="abc"), Pool(tuple(QUESTIONS), SOURCE)
    built = build_set(ArithmeticLM(), found, pool, draw_items([found], size=5, seed=3), seed=3).set
    assert (built.model, built.revision, built.seed) == ("Models/My model", "abc", 3)
    assert built.pool == pool_digest(QUESTIONS) and len(built.prompts) == 3 and HELD_OUT.text not in built.prompts
    assert [q.item for q in built.questions] == sorted((q.item for q in built.questions), key=lambda i: int(i[1:]))
    assert {round(q.ppl or 0, 6) for q in built.questions} == {round(2.718281828**0.5, 6)}
