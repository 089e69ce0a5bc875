"""Specificity sets: pools and candidates, for their own model only, in whole runs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from curation.case_sources.opening import open_specificity
from curation.files.artifact_cache import Cache
from curation.files.journal import Journal
from curation.loaders.formats.native import write_records
from curation.shipped.from_facts import PoolQuestion, pool_digest
from curation.splits.split_file import make_split
from evaluation.analysis.comparison import compare
from evaluation.inference.answering import ModelScorer
from evaluation.metrics.generation import metrics_of
from evaluation.runs import specificity_building as building
from evaluation.runs.config import RunConfig
from evaluation.runs.frame import score_run
from evaluation.runs.plan import plan_of
from evaluation.runs.refusals import refuse_other_model
from evaluation.runs.results import load_run
from evaluation.runs.specificity_building import (
    HELD_OUT,
    PROMPTS,
    Candidates,
    KnownAnswer,
    Pool,
    build_set,
    draw_items,
    find_candidates,
    open_pool,
)
from schemas.core.errors import DataError, UserError
from schemas.documents.document import BLANK
from tests.support.arithmetic import ArithmeticEdit, ArithmeticEditor, ArithmeticLM, make_case, make_config
from tests.support.documents.pools import asked_first, begins_with, near_sighted
from tests.support.documents.records import document_case, make_document, make_probe
from tests.support.documents.shared import make_set, make_shared, write_set
from tests.support.evaluation.runner_of import runner_of
from tests.support.facts import SOURCE

SHARED = {p.id for p in make_shared().probes}


BATCH: dict[str, Any] = {"name": "batch", "size": 2}


SEQUENCE: dict[str, Any] = {"name": "sequential", "size": [2, 4]}


class DocumentEditor(ArithmeticEditor):
    """Puts a word before every prompt; fails on a document."""

    def edit(self, requests):
        if any(r.key in self.params.fail for r in requests):
            raise RuntimeError("no")
        return ArithmeticEdit({}, prefix="" if self.name == "none" else "So: ")


def split(count: int = 4):
    cases = []
    for n in range(count):
        key = f"d/{n}"
        probe = make_probe(f"Town {n} lies in ___.", "Peru", document=key)
        cases.append(
            document_case(f"case/{n}", document=make_document(key, f"Town {n} lies in Peru."), probes=(probe,))
        )
    return make_split("towns", cases)


def go(out: Path, *, lm: ArithmeticLM | None = None, retry: bool = False, **more: Any):
    model = lm or ArithmeticLM()
    table = {"file": str(write_set(out.parent / "sets")), "number": "all"} | more.pop("specificity", {})
    config = make_config(out, **{"metrics": ["em", "em_spec", "ppl_spec"], "specificity": table, **more})
    runner_of(config, split(), scorer=model, make=DocumentEditor, retry_failed=retry).run()
    return model


def asked(lm: ArithmeticLM) -> Counter[str]:
    return Counter(probe for call in lm.calls for probe in call if probe in SHARED)


@pytest.mark.parametrize(("regime", "states"), [("single", 4), (BATCH, 2), (SEQUENCE, 2)])
def test_asked_once_a_state_and_once_of_the_unedited_model(tmp_path: Path, regime: Any, states: int) -> None:
    lm = go(tmp_path / "run", regime=regime)
    assert asked(lm) == dict.fromkeys(SHARED, states + 1)
    assert go(tmp_path / "run", regime=regime).calls == [], "all of it is kept"
    journals = {path.parent.name.partition("-")[0]: path for path in (tmp_path / "run").glob("*/journal.jsonl")}
    for label, number in (("push", states), ("none", 1)):
        with Journal(journals[label]) as journal:
            lines = [SHARED & {a["probe"] for a in result["answers"]} for _, result in journal.items()]
        assert sum(ids == SHARED for ids in lines) == number and all(ids in (SHARED, set()) for ids in lines)


def test_drawn_questions_differ_by_case_and_the_unedited_model_is_asked_what_any_case_draws(tmp_path: Path) -> None:
    lm = go(tmp_path / "run", specificity={"number": 2})
    counts = [sum(p in SHARED for p in call) for call in lm.calls]
    assert counts[1:4] == [0, 0, 0] and counts[4:] == [2, 2, 2, 2] and counts[0] == len(asked(lm)) > 2


@pytest.mark.parametrize("regime", ["single", BATCH, SEQUENCE])
def test_values_are_pooled_over_states_and_paired_with_before(tmp_path: Path, regime: Any) -> None:
    go(tmp_path / "run", regime=regime)
    run = load_run(tmp_path / "run")
    metrics = metrics_of(run.about)
    none, push = compare(run, score_run(run, metrics, "mean"), metrics)[0].rows
    states = {"single": 4, "batch": 2}.get(regime if isinstance(regime, str) else regime["name"], 1)
    assert (push.summaries["em_spec"].items, none.summaries["em_spec"].items) == (6 * states, 24)
    assert push.gain["em_spec"].n == states
    assert push.gain["em_spec"].mean == pytest.approx(push.summaries["em_spec"].mean - none.summaries["em_spec"].mean)


def test_a_metric_added_later_asks_only_what_is_shared(tmp_path: Path) -> None:
    go(tmp_path / "run", metrics=["em"])
    lm = go(tmp_path / "run")
    assert asked(lm) == dict.fromkeys(SHARED, 5) and {p for call in lm.calls for p in call} == SHARED
    full_result = tmp_path / "whole"
    go(full_result)
    runs = [load_run(path) for path in (tmp_path / "run", full_result)]
    assert [{k: set(r.answers) for k, r in e.results.items()} for e in runs[0].editors] == [
        {k: set(r.answers) for k, r in e.results.items()} for e in runs[1].editors
    ]


def test_an_edit_that_fails_has_no_shared_answers_until_it_is_tried_again(tmp_path: Path) -> None:
    editors = [{"name": "push", "params": {"fail": ["d/1"]}}]
    assert asked(go(tmp_path / "run", editors=editors)) == dict.fromkeys(SHARED, 4)
    assert asked(go(tmp_path / "run", editors=editors)) == {}


def test_broken_off_between_units_asks_nothing_twice(tmp_path: Path) -> None:
    class Broken(ArithmeticLM):
        def score(self, probes, **more):
            if len(self.calls) == 6:
                raise KeyboardInterrupt
            return super().score(probes, **more)

    first = Broken()
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path / "run", lm=first)
    second = go(tmp_path / "run")
    assert asked(first) + asked(second) == dict.fromkeys(SHARED, 5)


def test_a_set_of_another_model_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    lm = ArithmeticLM(name="gpt2")
    with pytest.raises(UserError, match="holds what 'arithmetic' answers"):
        go(tmp_path / "run", lm=lm)
    assert lm.calls == [] and not (tmp_path / "run").exists()


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


def named(metrics: list[str], **more: object) -> RunConfig:
    return RunConfig.model_validate({"split": "mini", "editors": ["none"], "metrics": metrics, "out": "o", **more})


def opened_for(config: RunConfig, *, model: str):
    questions = plan_of(config, make_split("s", [make_case("Land01")])).questions
    if questions is not None:
        refuse_other_model(questions.set, model=model)
    return questions


def opened(path: Path, *, model: str = "org/Arithmetic", number: object = 4):
    return opened_for(named(["em_spec"], specificity={"file": path, "number": number}), model=model)


def test_a_set_of_the_models_name_is_opened_whatever_stands_before_it(tmp_path: Path) -> None:
    shared = opened(write_set(tmp_path))
    assert shared is not None and (len(shared.probes), shared.number) == (6, 4)
    assert opened(write_set(tmp_path), number="all").number is None  # type: ignore[union-attr]


def test_a_record_as_json_is_the_same_set(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    write_records([make_set(revision="abc")], path)
    assert open_specificity(path) == make_set(revision="abc")
    assert len(open_specificity(write_set(tmp_path)).questions) == 6


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="'em_spec' asks what the unedited model answers, and no set"):
        opened_for(named(["em", "em_spec"]), model="m")
    with pytest.raises(UserError, match="there is no such file"):
        opened(tmp_path / "none.json")
    with pytest.raises(UserError, match="holds what 'arithmetic' answers, and this run edits 'gpt2'"):
        opened(write_set(tmp_path), model="gpt2")
    with pytest.raises(UserError, match="7 questions are to be asked after every edit, and the set .* has 6"):
        opened(write_set(tmp_path), number=7)
    other = tmp_path / "documents.json"
    other.write_text(json.dumps([{"id": "d", "text": "It is so.", "probes": []}]), encoding="utf-8")
    with pytest.raises(UserError):
        opened(other)


def test_weights_decide_where_the_set_knows_them() -> None:
    specificity_set = make_set(revision="abc")
    refuse_other_model(specificity_set, model="a folder of any name", revision="abc")
    refuse_other_model(specificity_set, model="before it is loaded")
    with pytest.raises(UserError, match=r"what 'arithmetic' \(abc\) answers, and this run edits 'arithmetic' \(xyz\)"):
        refuse_other_model(specificity_set, model="arithmetic", revision="xyz")


def write_rows(folder: Path, *rows: Any) -> str:
    path = folder / "pool.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_the_shipped_pool_is_free() -> None:
    pool = open_pool("shipped", licence="mine")
    assert len(pool.questions) == 1670 and pool.source.licence == "CC0-1.0"


def test_rows_of_trivia_qa_and_of_ours(tmp_path: Path) -> None:
    trivia = {"question": " Who? ", "question_id": "tc 1", "answer": {"value": "Ada", "aliases": ["Ada", "Lovelace"]}}
    own = {"query": "It lies in ___.", "item": "lake", "answers": ["Peru", " Peru "]}
    released = {"id": 7, "query": "Where?", "answer": " Oslo"}
    pool = open_pool(write_rows(tmp_path, trivia, own, released), licence="CC BY 4.0")
    assert [tuple(question) for question in pool.questions] == [
        ("tc_1", "Who?", ("Ada", "Lovelace")),
        ("lake", "It lies in ___.", ("Peru",)),
        ("7", "Where?", ("Oslo",)),
    ]
    assert (pool.source.name, pool.source.licence) == ("pool.jsonl", "CC BY 4.0")


def test_an_answer_that_stands_in_its_query_does_not_count(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "query": "Is Oslo it?", "answers": ["Oslo", "Norway"]},
        {"id": "b", "query": "Oslo?", "answer": "oslo"},
    ]
    assert [tuple(q) for q in open_pool(write_rows(tmp_path, *rows)).questions] == [("a", "Is Oslo it?", ("Norway",))]
    with pytest.raises(DataError, match="no question that a model could be asked"):
        open_pool(write_rows(tmp_path, rows[1]))


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ({"id": "a", "query": "Who?"}, "not a question with answers"),
        ({"id": "a", "query": " ", "answer": "b"}, "not a question with answers"),
        ({"query": "Who?", "answer": "b"}, "not a question with answers"),
        ({"id": "a", "query": "Who?", "answers": [" ", 3]}, "not a question with answers"),
        ([1], "not a question"),
    ],
)
def test_what_is_no_question_is_one_sentence(tmp_path: Path, row: Any, fault: str) -> None:
    with pytest.raises(DataError, match=fault) as error:
        open_pool(write_rows(tmp_path, row))
    assert "pool.jsonl" in str(error.value) and "allowed: a query" in str(error.value)


def test_a_name_stands_once_and_the_file_is_there(tmp_path: Path) -> None:
    row = {"id": "a", "query": "Who?", "answer": "b"}
    with pytest.raises(DataError, match="'a' is there twice"):
        open_pool(write_rows(tmp_path, row, row))
    with pytest.raises(UserError, match="no such file"):
        open_pool(str(tmp_path / "none.jsonl"))
