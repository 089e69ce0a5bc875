"""The attribution ladder and the figures over texts, worked by hand and on a whole run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evaluation.analysis.attribution_ladder import attribution_stages, known_cases, stage_breakdowns
from evaluation.analysis.text_statistics import object_mention_rates, score_text_gaps, text_shapes
from evaluation.runs.results import EditorFolder, Run, load_run
from schemas.answers import Answer
from schemas.runs import CaseResult
from tests.support.arithmetic import ArithmeticLM, go

TEXTS = ["s_es_gen", "s_es_gen_question"]


def finished(out: Path, metrics: list[str], **more: Any) -> Run:
    go(out, metrics=metrics, **more)
    return load_run(out)


def test_rungs_by_hand() -> None:
    """Four cases: three pass ES; of these one fails PS, and the one that failed ES passes PS."""
    steps = [
        ("es", "ES", {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.0}),
        ("ps", "PS", {"a": 1.0, "b": 0.5, "c": 1.0, "d": 1.0}),
    ]
    first, second = attribution_stages(steps)
    assert (first.rate.mean, first.passed, first.drop, first.lost, first.gained) == (0.75, 3, None, None, None)
    assert (second.rate.mean, second.passed) == (0.875, 3), "half of the prompts is not a pass"
    assert second.drop is not None and second.drop.mean == pytest.approx(0.125)
    assert second.lost is not None and (second.lost.value, second.lost.n) == (pytest.approx(1 / 3), 3)
    assert second.gained is not None and (second.gained.value, second.gained.n) == (1.0, 1)


def test_a_run_climbs_the_ladder_on_the_same_cases(tmp_path: Path) -> None:
    run = finished(tmp_path, ["es", "ps", "s_es", *TEXTS])
    (whole,) = stage_breakdowns(run, known="all")
    assert whole.label == "push" and whole.cases == 6
    assert [r.metric for r in whole.rungs] == ["es", "ps", "s_es", "s_es_gen"]
    (known,) = stage_breakdowns(run, known="preferred")
    assert known.cases == len(known_cases(run, "preferred")) < 6
    assert all(r.rate.n == known.cases for r in known.rungs)
    rated = {"push": dict.fromkeys(run.cases[:4], 7.0)}
    (judged,) = stage_breakdowns(run, known="all", coherence=rated)
    assert judged.cases == 4 and judged.rungs[-1].title == "Coherence" and judged.rungs[-1].rate.mean == 1.0


def test_a_rung_that_nobody_climbed_is_left_out(tmp_path: Path) -> None:
    (only,) = stage_breakdowns(finished(tmp_path, ["es"]), known="all")
    assert [r.metric for r in only.rungs] == ["es"]


def test_known_is_what_the_unedited_model_names(tmp_path: Path) -> None:
    run = finished(tmp_path, ["es", *TEXTS])
    assert known_cases(run, "named") == set(run.cases), "it writes Lima everywhere"
    wrong = finished(tmp_path / "rome", ["es", *TEXTS], lm=_Elsewhere())
    assert known_cases(wrong, "named") == set()


class _Elsewhere(ArithmeticLM):
    def _text(self, probe: Any, prompt: str) -> Answer:
        found = super()._text(probe, prompt)
        assert found.written is not None
        return found.model_copy(
            update={"written": found.written.model_copy(update={"text": found.written.text.replace("Lima", "Bonn")})}
        )


def test_naming_and_gaps_by_hand(tmp_path: Path) -> None:
    """The unedited model names Lima everywhere, the edited one Oslo; S-ES is what probabilities say."""
    run = finished(tmp_path, ["s_es", *TEXTS])
    rows = {(n.label, n.place): n for n in object_mention_rates(run)}
    assert set(rows) == {(e, p) for e in ("none", "push") for p in ("script prompt", "question")}
    none, push = rows["none", "question"], rows["push", "script prompt"]
    assert (none.texts, none.old.mean, none.new.mean, none.mixed.mean, none.loops.mean) == (12, 1.0, 0.0, 0.0, 0.0)
    assert (push.new.mean, push.sound.mean, push.neither.mean, push.missing) == (1.0, 1.0, 0.0, 0)
    gap = {g.label: g for g in score_text_gaps(run)}["push"]
    assert gap.prompts == gap.known_prompts == 12 and gap.known_new.mean == 1.0
    assert gap.all.mean is not None and -1.0 < gap.all.mean < 0.0, "it writes the new object more often than preferred"


def test_gaps_count_only_what_the_unedited_model_knew(tmp_path: Path) -> None:
    gap = score_text_gaps(finished(tmp_path, ["s_es", *TEXTS], lm=_Elsewhere()))[0]
    assert gap.prompts == 12 and gap.known_prompts == 0 and gap.known.mean is None


def test_missing_texts_are_counted(tmp_path: Path) -> None:
    run = finished(tmp_path, ["s_es", "s_es_gen"])
    assert {n.place for n in object_mention_rates(run)} == {"script prompt"} and text_shapes(run) == []
    editor = run.editors[1]
    key = run.cases[0]
    cut: CaseResult = editor.results[key].model_copy(update={"answers": editor.results[key].answers[:-1]})
    less = run._replace(editors=(run.editors[0], editor._replace(results={**editor.results, key: cut})))
    assert [n.missing for n in object_mention_rates(less)] == [0, 1]


def test_shapes(tmp_path: Path) -> None:
    run = finished(tmp_path, ["s_es_gen_question", "collapse"])
    push = next(s for s in text_shapes(run) if s.label == "push")
    assert (push.scripts, push.steps.mean, push.cut_off.mean, push.chat.mean, push.broken) == (12, 2.0, 0.0, 0.0, {})
    assert push.words.mean == 16.0, "six in the first line, ten in the second"
    assert push.entropy.mean is not None and push.entropy.mean > 0
    assert push.perplexity is not None and push.before is not None
    assert EditorFolder(tmp_path).path == tmp_path
