"""Further parts of a report: runs not comparable, breakdowns, many edits in one model, LaTeX, what is missing."""

from __future__ import annotations

import pytest

from curation.splits.split_file import make_split
from evaluation.analysis.tables import rates
from evaluation.analysis.written_facts import NAMED_FIRST, text_values
from evaluation.report.formatting import cell_text
from evaluation.report.write import write_report
from evaluation.runs.results import load_run
from schemas.scripts import ScriptQuestion
from tests.evaluation.report.test_html_page import finished, read
from tests.support.arithmetic import make_cases
from tests.support.report import two_runs
from tests.support.report.two_runs import METRICS, TWO

two = two_runs.two


@pytest.fixture(scope="module")
def sequence(tmp_path_factory):
    out = tmp_path_factory.mktemp("sequence")
    regime = {"name": "sequential", "size": [1, 2, 5], "score": "both"}
    return finished(out, editors=TWO, split=make_cases(5, 0), regime=regime)


def test_runs_in_other_regimes_are_told_apart(two, sequence, tmp_path):
    _, reader = read(write_report([two, sequence], out=tmp_path).files[0])
    text = " ".join("".join(reader.text).split())
    assert "2 parts that cannot be compared" in text and "regime: part 1 single, part 2 sequential" in text
    assert "edits stay in the model, one after the other" in text
    assert "they are not independent" in text
    assert reader.stack == [] and all(t[1:] in reader.ids for t in reader.targets)


def test_generated_texts_fill_the_ladder_and_the_text_level(tmp_path):
    metrics = [
        *METRICS,
        "s_es_gen",
        "s_es_gen_question",
        "script_format",
        "repetition_rate",
        "n_gram_entropy",
        "collapse",
    ]
    split = make_cases(5, 1)
    cases = [
        c.model_copy(update={"questions": (ScriptQuestion(key=f"{c.key}/q", fact=c.fact.key, text="How to go?"),)})
        for c in split.cases
    ]
    out = finished(tmp_path, editors=TWO, split=make_split("tiny", cases), metrics=metrics)
    files = write_report([out])
    html, reader = read(files.files[0])
    text = " ".join("".join(reader.text).split())
    labels = ("Which object is named first", "Objects named in the scripts")
    for phrase in ("S-ES-gen", "S-ES compared with the written text", "Generated texts", *labels):
        assert phrase in text, phrase
    assert reader.stack == [] and all(t[1:] in reader.ids for t in reader.targets)
    (row,) = rates(
        [v for v in text_values(load_run(out), "question") if v["method"] == "push"], ["method"], NAMED_FIRST
    )
    figure, interval = cell_text(row[2])
    assert figure in html and interval.replace(", ", ",\N{NO-BREAK SPACE}") in html
