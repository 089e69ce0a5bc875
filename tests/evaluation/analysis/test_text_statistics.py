"""Figures over texts, worked by hand."""

from __future__ import annotations

from pathlib import Path

from evaluation.analysis.text_statistics import object_mention_rates, score_text_gaps, text_shapes
from evaluation.runs.results import EditorFolder
from schemas.runs import CaseResult
from tests.support.report.texts_run import TEXTS, _Elsewhere, finished


def test_naming_and_gaps_by_hand(tmp_path: Path) -> None:
    """The unedited model names Lima everywhere, the edited one Oslo; S-ES is what probabilities say."""
    run = finished(tmp_path, ["s_es", *TEXTS])
    rows = {(n.label, n.place): n for n in object_mention_rates(run)}
    assert set(rows) == {(e, p) for e in ("none", "push") for p in ("script prompt", "question")}
    none, push = rows["none", "question"], rows["push", "script prompt"]
    assert (none.texts, none.old.mean, none.new.mean, none.mixed.mean, none.repetition.mean) == (12, 1.0, 0.0, 0.0, 0.0)
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
