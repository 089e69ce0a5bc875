"""Figures over texts, worked by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evaluation.analysis.written_facts import text_tables, text_values
from schemas.runs import CaseResult
from tests.support.report.texts_run import TEXTS, _Elsewhere, finished


def tables(run: Any) -> dict[str, dict[Any, dict[str, Any]]]:
    """Title -> first cells of a row -> head -> cell."""
    return {
        t.title: {row[0] if t.head[1] != "Place" else row[:2]: dict(zip(t.head, row, strict=True)) for row in t.rows}
        for t in text_tables(run, "mean")
    }


def test_naming_gaps_and_shapes_by_hand(tmp_path: Path) -> None:
    """The unedited model names Lima everywhere, the edited one Oslo; S-ES is what probabilities say."""
    found = tables(finished(tmp_path, ["s_es", *TEXTS]))
    named = found["Which object is named first"]
    assert set(named) == {(e, p) for e in ("none", "push") for p in ("script prompt", "question")}
    none, push = named["none", "question"], named["push", "script prompt"]
    assert none["Texts"] == 12 and [none[h].mean for h in list(none)[3:]] == [0.0, 1.0, 0.0, 0.0, 0.0]
    assert push["New first"].mean == 1.0
    gap = found["S-ES compared with the written text"]["push"]
    assert gap["Prompts"] == 12 and -1.0 < gap["Δ S-ES to S-ES-gen"].mean < 0.0, "written more often than preferred"
    shape = found["Length and format of the scripts"]["push"]
    assert (shape["Scripts"], shape["Steps"].mean, shape["Cut off, %"].mean) == (12, 2.0, 0.0)
    assert shape["Words"].mean == 16.0, "six in the first line, ten in the second"
    assert shape["Entropy, bits"].mean > 0 and shape["Broken rules"] == "none"


def test_gaps_count_only_what_the_unedited_model_knew(tmp_path: Path) -> None:
    gap = tables(finished(tmp_path, ["s_es", *TEXTS], lm=_Elsewhere()))["S-ES compared with the written text"]["push"]
    assert gap["Prompts"] == 12 and gap["Δ where the unedited model names the old object"].mean is None


def test_missing_texts_are_in_no_figure(tmp_path: Path) -> None:
    run = finished(tmp_path, ["s_es", "s_es_gen"])
    assert "Length and format of the scripts" not in tables(run)
    editor, key = run.editors[1], run.cases[0]
    cut: CaseResult = editor.results[key].model_copy(update={"answers": editor.results[key].answers[:-1]})
    less = run._replace(editors=(run.editors[0], editor._replace(results={**editor.results, key: cut})))
    assert len(text_values(less, "script prompt")) == len(text_values(run, "script prompt")) - 1
