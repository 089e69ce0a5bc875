"""Which questions of a pool a model answers, and specificity sets drawn from them (MULFE §4.3 and Appendix A.4).

A question is a candidate where all tokens of one accepted answer are the most probable ones under all three prompts.
What was chosen for being right falls by itself when anything changes; so a fourth prompt takes no part in choosing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from curation.files.artifact_cache import Cache
from curation.loaders import load
from curation.loaders.base import Problem
from curation.loaders.reading import rows
from curation.shipped.from_facts import PoolQuestion, pool_digest, pool_from_facts
from curation.stats.estimates import Estimate
from curation.stats.intervals import binomial_interval
from evaluation.inference.answering import Scorer
from evaluation.metrics.generation import LABELS, PURPOSE, DocumentChoice, prompt_of
from schemas.answers import TargetScore
from schemas.core.errors import DataError, UserError
from schemas.core.ids import canonical_json, digest, slug
from schemas.core.ids import seed as seed_of
from schemas.documents.document import contains_words
from schemas.documents.specificity import SpecificityQuestion, SpecificitySet
from schemas.facts import Source
from schemas.probes import ScoreProbe

SHIPPED = "shipped"
_SHAPE = "a query (or question), its answers (or answer), and an item (or id, question_id) that names it"


class Pool(NamedTuple):
    """Questions that a model may answer, and where they come from."""

    questions: tuple[PoolQuestion, ...]
    source: Source


def open_pool(name: str, *, licence: str = "not stated") -> Pool:
    """The pool of a name.

    Args:
        name: ``shipped`` (each shipped fact as a cloze and as a question), or a file of JSON lines or a JSON array,
            such as the rows of TriviaQA (``question``, ``question_id``, ``answer`` with ``value`` and ``aliases``).
        licence: Of a file's questions.

    Raises:
        UserError: no such file.
        DataError: a row is no question with answers, or two have one name.
    """
    if name == SHIPPED:
        facts = load(SHIPPED).require()
        return Pool(pool_from_facts(facts), Source(name="ScEdit shipped facts", licence="CC0-1.0"))
    path = Path(name)
    questions = tuple(question for row in rows(path) if (question := _question(row)) is not None)
    names = [question.item for question in questions]
    if len(set(names)) != len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise DataError(f"the question '{twice}' is there twice", where=name, fix="give every question its own item")
    if not questions:
        raise DataError("the pool holds no question that a model could be asked", where=name, allowed=_SHAPE)
    return Pool(questions, Source(name=path.name, licence=licence))


def _question(row: Any) -> PoolQuestion | None:
    """A row as a question; None where every answer stands in the query, which then asks for nothing."""
    if isinstance(row, Problem):
        raise DataError(f"not a question: {row.what}", where=row.where, allowed=_SHAPE)
    data: Mapping[str, Any] = row.data
    query = _first(data, "query", "question")
    item = _first(data, "item", "question_id", "id")
    answers = _answers(_first(data, "answers", "answer"))
    if not isinstance(query, str) or not query.strip() or item is None or not answers:
        raise DataError("not a question with answers and a name", where=row.where, allowed=_SHAPE)
    query = query.strip()
    kept = tuple(answer for answer in answers if not contains_words(query, answer))
    return PoolQuestion("_".join(str(item).split()), query, kept) if kept else None


def _first(data: Mapping[str, Any], *names: str) -> Any:
    return next((data[name] for name in names if data.get(name) is not None), None)


def _answers(value: Any) -> tuple[str, ...]:
    """All accepted answers, the main one first, none twice."""
    if isinstance(value, Mapping):  # TriviaQA: {"value": ..., "aliases": [...]}
        value = [value.get("value"), *(value.get("aliases") or ())]
    texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(dict.fromkeys(t.strip() for t in texts if isinstance(t, str) and t.strip()))


VERSION = 1
"""Raised when the same pool and model would give other candidates."""

KIND = "specificity-candidates"
AT_ONCE = 256
"""Questions asked together."""


class ZeroShotPrompt(NamedTuple):
    """How a question is asked without an example; the first of three is that of a run (MULFE, Example 7)."""

    instruction: str
    question: str = LABELS[0]
    answer: str = LABELS[1]

    @property
    def text(self) -> str:
        """The prompt with ``{query}`` where the question stands."""
        before = f"{self.instruction}\n\n" if self.instruction else ""
        return f"{before}{self.question} {{query}}\n{self.answer}"


PROMPTS = (
    ZeroShotPrompt(DocumentChoice().instruction),
    ZeroShotPrompt("Answer in a few words."),
    ZeroShotPrompt("", "Q:", "A:"),
)
HELD_OUT = ZeroShotPrompt("Give the answer and nothing else.")
"""The fourth prompt; a run asks it with ``specificity.instruction``."""


class KnownAnswer(NamedTuple):
    """An answer that a model gives: its spelling, its negative log-probability (nats, a sum) and its tokens."""

    answer: str
    nll: float
    tokens: int


class Candidates(NamedTuple):
    """What a model answers of a pool.

    Attributes:
        model: Its name.
        revision: What tells its weights from others.
        known: The answer that it gives under all prompts, by question.
        left: Number of questions that are left after each prompt.
    """

    model: str
    revision: str
    known: Mapping[str, KnownAnswer]
    left: tuple[int, ...]


class BuiltSet(NamedTuple):
    """A set, and the share of its questions that the model answers under the prompt that was held out."""

    set: SpecificitySet
    held_out: Estimate


def find_candidates(
    scorer: Scorer, pool: Sequence[PoolQuestion], cache: Cache, *, on_progress: Callable[[int, int], None] | None = None
) -> Candidates:
    """The questions of a pool that a model answers under all three prompts; measured once a model and pool.

    Args:
        scorer: The model, unedited.
        pool: The questions.
        cache: Where what was measured is kept, by the model's revision.
        on_progress: Told the number of questions that were asked, and of all.
    """
    identity = {"model": scorer.revision, "pool": pool_digest(pool), "version": VERSION}
    identity |= {"prompts": canonical_json([prompt.text for prompt in PROMPTS])}
    kept = cache.load_json(KIND, identity)
    if kept is None:
        kept = {"known": {}, "left": [0] * len(PROMPTS)}
        for start in range(0, len(pool), AT_ONCE):
            known, left = _answered(scorer, pool[start : start + AT_ONCE])
            kept["known"] |= known
            kept["left"] = [a + b for a, b in zip(kept["left"], left, strict=True)]
            if on_progress is not None:
                on_progress(min(start + AT_ONCE, len(pool)), len(pool))
        cache.save_json(KIND, identity, kept, facts={"model": scorer.name})
    answers = {item: KnownAnswer(*answer) for item, answer in kept["known"].items()}
    return Candidates(scorer.name, scorer.revision, answers, tuple(kept["left"]))


def _answered(scorer: Scorer, pool: Sequence[PoolQuestion]) -> tuple[dict[str, KnownAnswer], list[int]]:
    """Answers under all prompts (with the NLL under the first), and the number of questions left after each."""
    open_answers = {question: question.answers for question in pool}
    first: dict[tuple[str, str], TargetScore] = {}
    left = []
    for n, prompt in enumerate(PROMPTS):
        scores = _greedy(scorer, open_answers, prompt)
        open_answers = {q: tuple(t.text for t in targets) for q, targets in scores.items() if targets}
        left.append(len(open_answers))
        if n == 0:
            first = {(q.item, t.text): t for q, targets in scores.items() for t in targets}
    known = {}
    for question, answers in open_answers.items():
        score = first[question.item, answers[0]]
        known[question.item] = KnownAnswer(answers[0], max(0.0, -score.logprob), score.tokens)
    return known, left


def _greedy(
    scorer: Scorer, asked: Mapping[PoolQuestion, Sequence[str]], prompt: ZeroShotPrompt
) -> dict[PoolQuestion, list[TargetScore]]:
    """The answers all of whose tokens are the most probable ones; none where the prompt does not fit the model."""
    if not asked:
        return {}
    answers = scorer.score([pool_probe(question, prompt, texts) for question, texts in asked.items()])
    return {
        question: [] if answer.truncated else [target for target in answer.targets if target.greedy]
        for question, answer in zip(asked, answers, strict=True)
    }


def pool_probe(question: PoolQuestion, prompt: ZeroShotPrompt, answers: Sequence[str]) -> ScoreProbe:
    """A question with some of its answers, a cloze with its beginning as that of the answer."""
    prompted = prompt_of(question.query, DocumentChoice(), labels=(prompt.question, prompt.answer))
    return ScoreProbe(
        purpose=PURPOSE,
        item=question.item,
        prompt=prompted.text,
        separator=prompted.separator,
        targets=tuple(answers),
        instruction=prompt.instruction,
        greedy=True,
    )


def common_items(found: Sequence[Candidates]) -> set[str]:
    """Names of the questions that all models answer."""
    return set.intersection(*(set(one.known) for one in found))


def draw_items(found: Sequence[Candidates], *, size: int, seed: int) -> list[str]:
    """Names of questions that all models answer, drawn by seed; which one is drawn depends on no model.

    Raises:
        UserError: fewer questions than are wanted.
    """
    common = common_items(found)
    if len(common) < size:
        who = "the model answers" if len(found) == 1 else f"all {len(found)} models answer"
        raise UserError(
            f"{who} {len(common)} questions of the pool under all {len(PROMPTS)} prompts, and {size} are wanted",
            where="--size",
            fix=f"ask for {len(common)} or fewer, or name a larger --pool" if common else "name another --pool",
        )
    return sorted(common, key=lambda item: (seed_of(str(seed), item, KIND), item))[:size]


def build_set(scorer: Scorer, found: Candidates, pool: Pool, items: Sequence[str], *, seed: int) -> BuiltSet:
    """The set of a model's drawn questions, and how many it answers under the prompt that was held out."""
    drawn = set(items)
    chosen = [question for question in pool.questions if question.item in drawn]
    questions = []
    for question in chosen:
        known = found.known[question.item]
        ppl = math.exp(known.nll / known.tokens)
        questions.append(
            SpecificityQuestion(item=question.item, query=question.query, answer=known.answer, nll=known.nll, ppl=ppl)
        )
    content = digest(canonical_json(question.model_dump(mode="json")) for question in questions)[:10]
    built = SpecificitySet(
        key=f"specificity/{slug(found.model) or 'model'}/{content}",
        model=found.model,
        revision=found.revision,
        questions=tuple(questions),
        prompts=tuple(prompt.text for prompt in PROMPTS),
        pool=pool_digest(pool.questions),
        seed=seed,
        source=pool.source,
    )
    again = _greedy(scorer, {q: (found.known[q.item].answer,) for q in chosen}, HELD_OUT)
    return BuiltSet(built, binomial_interval(sum(map(bool, again.values())), len(chosen)))
