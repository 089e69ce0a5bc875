"""Batches, sequences, and edits taken back: against slow references, resumed, failing, as a configuration says them."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from curation.case_sources.opening import choose, has_scripts, scripts_first
from curation.files.artifact_cache import Cache
from curation.splits.split_file import make_split
from evaluation.analysis.comparison import merge_runs
from evaluation.editors.base import Editor
from evaluation.editors.presets import make_editor
from evaluation.engines.fast import FastEngine
from evaluation.engines.simple import SimpleEngine
from evaluation.inference.answering import ModelScorer
from evaluation.inference.scoring import score
from evaluation.metrics import METRICS
from evaluation.models.language_model import LM
from evaluation.regimes import table
from evaluation.regimes.base import RegimeContext, edits_digest
from evaluation.regimes.config import LENGTHS, RegimeChoice, sampled_positions
from evaluation.regimes.general_texts import TEXTS, general_probes
from evaluation.regimes.sequential import SequentialRegime
from evaluation.regimes.table import BatchRegime, RevertRegime, reverted
from evaluation.report.write import write_report
from evaluation.runs.config import RunConfig
from evaluation.runs.progress import EditorProgress
from evaluation.runs.results import load_run
from evaluation.runs.runner import EditorOutcome
from schemas.answers import Answer
from schemas.cases import AnyCase, Case
from schemas.core.config import validate
from schemas.core.errors import DataError, UserError
from schemas.runs import CaseResult
from tests.evaluation.engines.test_fast import OPTIONS
from tests.support.arithmetic import ArithmeticEdit, ArithmeticEditor, ArithmeticLM, go, make_case, make_cases
from tests.support.documents.records import document_case
from tests.support.evaluation.edited_model import add_to_weights
from tests.support.evaluation.runner_of import runner_of
from tests.support.evaluation.slow_scoring import slow_answer
from tests.support.facts import peru_fact
from tests.support.small import small_split
from tests.support.tiny import make

LANDS = ("Peru", "Norway", "France", "Madrid", "Quito")


SPLIT = make_split("tiny", [make_case(land, old="Lima", new="São Tomé") for land in LANDS])


CASES = choose(SPLIT)


FAST = pytest.param(FastEngine, id="fast")


SIMPLE = pytest.param(lambda lm: SimpleEngine(ModelScorer(lm)), id="simple")


def config(out: Path, regime: Any, name: str = "ft", **more: Any) -> RunConfig:
    editors = [{"name": name, "params": OPTIONS[name]}]
    data = {"split": "mini", "editors": editors, "out": str(out), "regime": regime, "metrics": ["es", "s_es"], **more}
    return RunConfig.model_validate(data)


def go_on(lm: LM, wanted: RunConfig, *, engine: Any = None, make: Any = None, **more: Any) -> EditorOutcome:
    """The edited model's part of a run."""
    cache = Cache(wanted.out / "cache")
    method = make or (lambda name, params: make_editor(name, lm, cache, params))
    return runner_of(wanted, SPLIT, scorer=ModelScorer(lm), make=method, engine=engine, **more).run()[1]


def close(answers: Sequence[Answer], want: Sequence[Answer], within: float = 1e-4) -> None:
    assert len(answers) == len(want) > 0
    for x, y in zip(answers, want, strict=True):
        assert (x.probe, x.error) == (y.probe, y.error)
        for s, t in zip(x.targets, y.targets, strict=True):
            assert s.logprob == pytest.approx(t.logprob, abs=within)


def by_unit(outcome: EditorOutcome) -> dict[tuple[str, int], CaseResult]:
    return {(r.case, r.after or 0): r for r in outcome.folder.units().values()}


def probes(runner_config: RunConfig, case: Case) -> list[Any]:
    from evaluation.metrics.generation import load_metrics
    from evaluation.runs.plan import ask

    return list(ask(case, load_metrics(runner_config.metrics)))


@pytest.mark.parametrize("engine", [FAST, SIMPLE])
def test_a_batch_is_one_edit_of_all_its_cases(engine: Any, tmp_path: Path) -> None:
    lm = make("llama")
    digest, run_config = lm.weights_digest(), config(tmp_path, {"name": "batch", "size": 2})
    units = by_unit(go_on(lm, run_config, engine=engine(lm)))
    assert lm.weights_digest() == digest
    assert {k: (r.after, r.position) for (k, _), r in units.items()} == {
        case.key: (2 if n < 4 else 1, n % 2 + 1) for n, case in enumerate(CASES)
    }, "the last batch is smaller"
    plain = make_editor("ft", lm, Cache(tmp_path / "plain"), OPTIONS["ft"])
    for start in (0, 2, 4):
        batch = CASES[start : start + 2]
        with plain.edit([case.fact for case in batch]).on(lm):
            for case in batch:
                result = units[case.key, len(batch)]
                close(result.answers, [slow_answer(lm, lm.model, probe) for probe in probes(run_config, case)])
                assert result.notes["steps"] == 4 and result.seconds_edit > 0


def by_hand(lm: LM, name: str, folder: Path, wanted: RunConfig) -> dict[tuple[str, int], list[Answer]]:
    """A sequence in a copy of the model, each edit computed there and added to its weights."""
    replica = LM(copy.deepcopy(lm.model), lm.tokenizer, name=lm.name, revision=lm.revision)
    editor = make_editor(name, replica, Cache(folder), OPTIONS[name])
    results = {}
    for n, case in enumerate(CASES, 1):
        add_to_weights(replica.model, editor.edit([case.fact]).deltas or ())
        for earlier in CASES[:n]:
            results[earlier.key, n] = [slow_answer(lm, replica.model, probe) for probe in probes(wanted, earlier)]
    return results


@pytest.mark.parametrize(
    ("kind", "name", "engine"),
    [
        pytest.param("llama", "ft", FastEngine, id="fast"),
        pytest.param("gpt2", "rome", lambda lm: SimpleEngine(ModelScorer(lm)), id="simple"),
    ],
)
def test_a_sequence_is_edit_after_edit_in_one_model(kind: str, name: str, engine: Any, tmp_path: Path) -> None:
    lm = make(kind)
    digest = lm.weights_digest()
    run_config = config(tmp_path, {"name": "sequential", "size": [1, 3, 10]}, name)
    outcome = go_on(lm, run_config, engine=engine(lm))
    assert lm.weights_digest() == digest
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in lm.model.modules())
    units, want = by_unit(outcome), by_hand(lm, name, tmp_path / "hand", run_config)
    keys = [case.key for case in CASES]
    expected = [(k, n) for n in (1, 2, 3) for k in keys[:n] if n != 2 or k == keys[1]]
    assert set(units) == set(expected), "right after each edit, and all so far at lengths that there are cases for"
    for unit, result in units.items():
        close(result.answers, want[unit], within=5e-4)
        assert (result.position, result.after) == (keys.index(unit[0]) + 1, unit[1])


@pytest.mark.parametrize(
    ("score", "lengths", "units"),
    [
        ("immediate", [2, 4], [(1, 1), (2, 2), (3, 3), (4, 4)]),
        ("end", [2, 4], [(1, 2), (2, 2), (1, 4), (2, 4), (3, 4), (4, 4)]),
        ("both", [2, 3], [(1, 1), (1, 2), (2, 2), (1, 3), (2, 3), (3, 3)]),
        ("end", [100], [(n, 5) for n in range(1, 6)]),
    ],
)
def test_what_a_sequence_asks(score: Any, lengths: list[int], units: list[tuple[int, int]]) -> None:
    run_config = config(Path("x"), {"name": "sequential", "size": lengths, "score": score})
    result = SequentialRegime(run_config.regime).units(CASES)
    assert [(u.position, u.after) for u in result] == units
    assert len({u.key for u in result}) == len(units)
    assert all(u.key == f"{u.case.key}@{edits_digest(CASES[: u.after])}" for u in result)


def test_progress_counts_edits_between_the_cases_that_are_asked(tmp_path: Path) -> None:
    """Most edits of a long sequence are followed by no question: the time of those to come is left."""
    regime = {"name": "sequential", "size": [5], "score": "end"}
    lm, events = make("llama"), list[EditorProgress]()
    wanted = config(tmp_path, regime, "prompt")
    go_on(lm, wanted, on_event=events.append)
    edits = [e for e in events if e.note.startswith("edit ")]
    assert [(e.note, e.done) for e in edits] == [(f"edit {n} of 5", 0) for n in range(1, 6)]
    assert edits[0].least_left == 0.0 and all(e.least_left > 0 for e in edits[1:]), "no pace before the first"


def test_progress_says_how_many_edits_a_batch_makes(tmp_path: Path) -> None:
    lm, events = make("llama"), list[EditorProgress]()
    wanted = config(tmp_path, {"name": "batch", "size": 3}, "ft")
    go_on(lm, wanted, on_event=events.append)
    assert [e.note for e in events if "at once" in e.note] == [
        f"editing {n} cases at once, then scoring them" for n in (3, 2)
    ]


def test_the_forgetting_shows_and_the_newest_prompt_stands_in_front(tmp_path: Path) -> None:
    lm = make("llama")
    run_config = config(tmp_path, {"name": "sequential", "size": [1, 3], "score": "end"}, "prompt")
    units = by_unit(go_on(lm, run_config, engine=FastEngine(lm)))
    plain = make_editor("prompt", lm, Cache(tmp_path), {})
    sentence = "".join(plain.edit([case.fact]).rewrite("") for case in reversed(CASES[:3]))
    close(units[CASES[0].key, 3].answers, score(lm, probes(run_config, CASES[0]), rewrite=lambda text: sentence + text))


def test_longer_sequences_keep_what_shorter_ones_have(tmp_path: Path) -> None:
    lm = make("llama")
    first = go_on(lm, config(tmp_path, {"name": "sequential", "size": [1, 2]}))
    second = go_on(lm, config(tmp_path, {"name": "sequential", "size": [2, 5]}))
    assert first.computed == 3 and second.manifest.key == first.manifest.key
    assert second.resumed == 3, "after 1 edit, and after 2 edits both"
    assert {(r.position, r.after) for r in second.folder.units().values()} >= {(n, 5) for n in range(1, 6)}


class Weak(Editor):
    """A method that cannot edit France."""

    name, version, params, components = "weak", 1, {}, {}

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def prepare(self, support: Any) -> None: ...

    def edit(self, requests: Any) -> Any:
        if any(fact.subject.text == "France" for fact in requests):
            raise RuntimeError("cannot edit France")
        return self.inner.edit(requests)

    def edit_each(self, requests: Any) -> Any:
        return [self.edit([request]) for request in requests]

    def edit_after(self, requests: Any, earlier: Any) -> Any:
        return self.edit(requests)


@pytest.mark.parametrize(
    "regime", [{"name": "batch", "size": 2}, {"name": "sequential", "size": [5], "score": "immediate"}]
)
def test_an_edit_that_fails_is_a_result_and_the_others_go_on(
    regime: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lm = make("llama")
    digest = lm.weights_digest()
    inner, none = (make_editor(n, lm, Cache(tmp_path), OPTIONS[n]) for n in ("ft", "none"))
    outcome = go_on(lm, config(tmp_path, regime), make=lambda name, _: none if name == "none" else Weak(inner))
    failure = {r.case for r in outcome.folder.units().values() if r.error}
    where = next(n for n, case in enumerate(CASES) if case.fact.subject.text == "France")
    keys = [CASES[where].key] if regime["name"] == "sequential" else [c.key for c in CASES[where // 2 * 2 :][:2]]
    assert failure == set(keys) and outcome.computed == 5
    assert "failed: RuntimeError: cannot edit France (tests/evaluation/regimes/test_sequential.py, line " in caplog.text
    assert {r.error.partition(" (")[0] for r in outcome.folder.units().values() if r.error} == {
        "RuntimeError: cannot edit France"
    }
    assert all(not r.answers for r in outcome.folder.units().values() if r.error)
    assert lm.weights_digest() == digest


def test_units_are_named_by_their_batch() -> None:
    cases = make_cases(5, 0).cases
    units = BatchRegime(RegimeChoice(name="batch", size=2)).units(cases)
    assert [(u.after, u.position) for u in units] == [(2, 1), (2, 2), (2, 1), (2, 2), (1, 1)]
    assert [u.key for u in units[:2]] == [f"{c.key}@{edits_digest(cases[:2])}" for c in cases[:2]]


def test_training_at_the_putting_on_counts_as_editing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every look at the clock takes a second, putting the edit on 100."""
    cases, lm, metric = make_cases(2, 0).cases, ArithmeticLM(), METRICS.get("es")()
    clock = [0.0]

    def look() -> float:
        clock[0] += 1.0
        return clock[0]

    @contextmanager
    def late(edit: ArithmeticEdit, model: Any) -> Iterator[Any]:
        clock[0] += 100.0
        yield model

    monkeypatch.setattr(table.time, "perf_counter", look)
    monkeypatch.setattr(ArithmeticEdit, "on", late)
    regime = BatchRegime(RegimeChoice(name="batch", size=2))
    context = RegimeContext(cases, ArithmeticEditor("push", {}), SimpleEngine(lm), lm, tmp_path, "run")
    results = [d for _, d in regime.run(regime.units(cases), lambda u: tuple(metric.probes(u.case)), context)]
    assert [50.0 < d.seconds_edit < 60.0 for d in results] == [True, True], "half of it each"


@pytest.mark.parametrize(
    ("choice", "name", "sizes", "identity"),
    [
        pytest.param({}, "single", (), "single", id="nothing said"),
        pytest.param("single", "single", (), "single", id="a bare name"),
        pytest.param("sequential", "sequential", LENGTHS, "sequential", id="the lengths of a sequence"),
        pytest.param({"name": "batch", "size": 1}, "batch", (1,), "batch:1", id="a batch of one"),
        pytest.param({"name": "batch", "size": [4]}, "batch", (4,), "batch:4", id="a list of one size"),
        pytest.param({"name": "batch", "size": [4, 2, 4]}, "batch", (2, 4), "batch:2, batch:4", id="two sizes"),
        pytest.param({"name": "sequential", "size": 7}, "sequential", (7,), "sequential", id="one length"),
        pytest.param({"name": "sequential", "size": [9, 3, 9, 1]}, "sequential", (1, 3, 9), "sequential", id="mixed"),
    ],
)
def test_what_a_choice_means(choice: Any, name: str, sizes: tuple[int, ...], identity: str) -> None:
    result = RegimeChoice.model_validate(choice)
    assert (result.name, result.sizes, result.text) == (name, sizes, identity)


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        pytest.param("batch", "'batch' takes one size or more", id="a batch without a size"),
        pytest.param({"name": "batch", "size": []}, "'batch' takes one size or more", id="a batch of no size"),
        pytest.param({"name": "batch", "size": [2, 0]}, "sizes are 1 or more", id="one of two sizes is none"),
        pytest.param({"name": "single", "size": 1}, "'single' takes no size", id="a size of single edits"),
        pytest.param({"name": "revert", "size": 2}, "'revert' takes no size", id="a size of a revert"),
        pytest.param({"name": "reedit", "score": "end"}, "score is for 'sequential'", id="moments of a chain"),
        pytest.param({"name": "batch", "size": 0}, "sizes are 1 or more", id="a batch of none"),
        pytest.param({"name": "sequential", "size": [4, -1]}, "sizes are 1 or more", id="a negative length"),
        pytest.param({"name": "sequential", "size": []}, "takes one length or more", id="no length"),
        pytest.param({"name": "sequential", "size": [], "score": "immediate"}, "one length or more", id="no end"),
        pytest.param({"name": "sequential", "size": "many"}, "size", id="a word for a size"),
        pytest.param({"name": "sequential", "score": "later"}, "score", id="an unknown moment"),
        pytest.param("sequencial", "name", id="an unknown name"),
        pytest.param({"name": "single", "sise": 3}, "did you mean 'size'", id="an unknown key"),
        pytest.param(["single"], "give a name, such as .*or a table", id="a list"),
        pytest.param({"name": "batch", "size": True}, "size: Input should be a number", id="true for a size"),
        pytest.param({"name": "sequential", "size": [True, 5]}, "size: Input should be a number", id="true in a list"),
        pytest.param({"name": "batch", "size": float("inf")}, "size", id="an infinite size"),
    ],
)
def test_what_is_refused(choice: Any, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        validate(RegimeChoice, choice, where="regime")


def test_every_size_of_a_batch_is_a_regime_and_a_row_of_its_own() -> None:
    several = RegimeChoice(name="batch", size=(10, 2))
    assert [part.text for part in several.parts] == ["batch:2", "batch:10"]
    assert several.parts[0] == RegimeChoice(name="batch", size=2)
    assert several.labels("ft") == ("ft (batch of 2)", "ft (batch of 10)")
    for one in (RegimeChoice(), RegimeChoice(name="batch", size=(3,)), RegimeChoice(name="sequential", size=(1, 2))):
        assert one.parts == (one,) and one.labels("ft") == ("ft",)


SCRIPTS = list(small_split().cases[:3])


PLAIN: list[AnyCase] = [Case(key=f"case/{n}", fact=peru_fact(f"f/{n}")) for n in range(17)]


def test_scripts_first_in_their_order_and_others_in_theirs() -> None:
    mixed = [PLAIN[4], SCRIPTS[1], PLAIN[0], SCRIPTS[0]]
    assert scripts_first(mixed) == [SCRIPTS[1], SCRIPTS[0], PLAIN[4], PLAIN[0]]
    split = make_split("s", [*PLAIN, *SCRIPTS])
    drawn, ordered = choose(split), choose(split, order="scripts_first")
    assert list(ordered) == scripts_first(drawn) != list(drawn)
    limited = choose(split, order="scripts_first", limit=3)
    assert all(map(has_scripts, limited)) and limited == ordered[:3], "the order comes before the limit"


def test_all_where_there_is_room() -> None:
    cases = [*SCRIPTS, *PLAIN]
    assert sampled_positions(cases, 4, None) == sampled_positions(cases, 4, 4) == [1, 2, 3, 4]


def test_scripts_stay_and_others_are_drawn_by_their_keys() -> None:
    cases = [*SCRIPTS, *PLAIN]
    long, longer = sampled_positions(cases, 12, 7), sampled_positions(cases, 20, 7)
    assert long[:3] == longer[:3] == [1, 2, 3] and len(long) == len(longer) == 7
    assert {p for p in longer if p <= 12} <= set(long), "what is asked later was asked before"
    other = [*SCRIPTS, *reversed(PLAIN)]
    assert {other[p - 1].key for p in sampled_positions(other, 20, 7)} == {cases[p - 1].key for p in longer}
    assert sampled_positions(cases, 20, 2)[-1] <= 3


@pytest.mark.parametrize("score", ["immediate", "end", "both"])
def test_a_sequence_asks_the_sample_only(score: str) -> None:
    cases = [*SCRIPTS, *PLAIN]
    choice = RegimeChoice.model_validate({"name": "sequential", "size": [2, 20], "sample": 5, "score": score})
    units = [(u.position, u.after) for u in SequentialRegime(choice).units(cases)]
    at_end, at_two = sampled_positions(cases, 20, 5), [1, 2]
    now = [(p, p) for p in sorted({*at_end, *at_two})] if score != "end" else []
    later = [(p, n) for n, some in ((2, at_two), (20, at_end)) for p in some] if score != "immediate" else []
    assert sorted(units) == sorted({*now, *later})


def test_they_are_different_and_ask_one_text_each() -> None:
    probes = general_probes()
    assert len({p.id for p in probes}) == len({p.item for p in probes}) == len(TEXTS) == 24
    assert all(len(p.targets) == 1 and len(p.targets[0].split()) > 30 for p in probes)


def test_they_name_nothing_that_could_be_edited() -> None:
    objects = {o.text for c in small_split().cases for o in (c.fact.subject, c.fact.old, c.fact.new) if o}
    for sentence, rest in TEXTS:
        inside = re.findall(r"(?<![.!?] )(?<!^)\b[A-Z]\w+", f"{sentence} {rest}")
        assert not inside, "a capital inside a sentence is a name"
        assert not objects & set(re.findall(r"\w+", f"{sentence} {rest}"))


PERU = make_case("Peru")


def test_the_way_back_changes_the_objects_over_and_is_a_request_of_its_own() -> None:
    back = reverted(PERU)
    assert (back.new_object.text, back.old.text) == ("Lima", "Oslo") and back.fact_prompt == PERU.fact.fact_prompt
    assert back.id != PERU.fact.id and len({PERU.fact.id, back.id, PERU.fact.id}) == 2
    chains = {name: RevertRegime(RegimeChoice(name=name)).chain(PERU) for name in ("revert", "reedit")}
    assert [[f.new_object.text for f in chain] for chain in chains.values()] == [
        ["Oslo", "Lima"],
        ["Oslo", "Lima", "Oslo"],
    ]
    keys = {name: RevertRegime(RegimeChoice(name=name)).units([PERU])[0].key for name in ("revert", "reedit")}
    assert len(set(keys.values())) == 2


@pytest.mark.parametrize(("kind", "engine", "name"), [("gpt2", "simple", "revert"), ("llama", "fast", "reedit")])
def test_equals_edits_put_on_by_hand(kind: str, cache: Cache, engine: str, name: str, tmp_path: Path) -> None:
    """FT: each edit is searched on the weights that the one before it left, and weights come back bit for bit."""
    tiny = make(kind)
    digest, scorer = tiny.weights_digest(), ModelScorer(tiny)
    editor = make_editor("ft", tiny, cache, OPTIONS["ft"])
    probes = tuple(METRICS.get("es")().probes(PERU))
    regime = RevertRegime(RegimeChoice(name=name))
    working = FastEngine(tiny) if engine == "fast" else SimpleEngine(scorer)
    context = RegimeContext([PERU], editor, working, scorer, tmp_path, "run")
    ((unit, done),) = regime.run(regime.units([PERU]), lambda u: probes, context)
    assert done.error is None and tiny.weights_digest() == digest and unit.after == (2 if name == "revert" else 3)
    first = editor.edit([PERU.fact])
    with first.on(tiny):
        second = editor.edit([reverted(PERU)])
        with second.on(tiny):
            (by_hand,) = score(tiny, list(probes))
            if name == "reedit":
                with editor.edit([PERU.fact]).on(tiny):
                    (by_hand,) = score(tiny, list(probes))
    values, expected = ([t.logprob for t in a.targets] for a in (done.answers[0], by_hand))
    assert values == pytest.approx(expected, abs=1e-3)


@pytest.mark.usefixtures("no_pictures")
def test_the_old_answer_is_back_and_a_failure_stays_with_its_case(tmp_path: Path) -> None:
    editors = [{"name": "push", "params": {"fail": ["Land01"]}}]
    for regime in ("single", "revert", "reedit"):
        go(tmp_path / regime, metrics=["es"], regime=regime, editors=editors)
    runs = {regime: load_run(tmp_path / regime) for regime in ("single", "revert", "reedit")}
    for run in runs.values():
        errors = {k: r.error for k, r in run.editors[1].results.items() if r.error}
        assert len(errors) == 1 and "cannot edit Land01" in next(iter(errors.values()))
    lifted = {
        name: {a.targets[0].logprob > a.targets[1].logprob for r in run.editors[1].results.values() for a in r.answers}
        for name, run in runs.items()
    }
    assert lifted["single"] == lifted["reedit"] and False in lifted["revert"]
    (merged,) = merge_runs(list(runs.values()))
    assert [e.label for e in merged.editors] == [
        "none", "push (single)", "push (edited and reverted)", "push (edited, reverted, edited again)",
    ]  # fmt: skip
    html = write_report([tmp_path / "revert"]).files[0].read_text(encoding="utf-8")
    assert "each edit made and taken back by another edit, alone" in html and "holds many edits at once" not in html
    assert "edits made at once" not in html


def test_only_facts_can_be_taken_back() -> None:
    regime = RevertRegime(RegimeChoice(name="revert"))
    with pytest.raises(UserError, match="only facts can be edited back"):
        regime.units([document_case()])
