"""Further parts of a report: runs not comparable, breakdowns, many edits in one model, LaTeX, what is missing."""

from __future__ import annotations

import pytest

from curation.splits.split_file import make_split
from evaluation.analysis.text_statistics import object_mention_rates
from evaluation.report.formatting import mean_with_interval
from evaluation.report.write import write_report
from evaluation.runs.results import load_run
from schemas.scripts import ScriptQuestion
from tests.evaluation.report.test_write import finished, read
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
    assert "cases share one model, so they are not independent" in text
    assert reader.stack == [] and all(t[1:] in reader.ids for t in reader.targets)


def test_what_is_missing_says_which_command_makes_it(two, tmp_path):
    _, reader = read(write_report([two], out=tmp_path).files[0])
    text = " ".join("".join(reader.text).split())
    for phrase in ("scedit report RUN --store S", "scedit annotate new NAME", "s_es_gen", 'name = "sequential"'):
        assert phrase in text


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
    for phrase in ("S-ES-gen", "S-ES − S-ES-gen", "Generated texts", *labels):
        assert phrase in text, phrase
    assert "No text was generated" not in text and "The store has no ratings of these scripts" in text
    assert reader.stack == [] and all(t[1:] in reader.ids for t in reader.targets)
    run = load_run(out)
    first = next(n for n in object_mention_rates(run) if n.label == "push" and n.place == "question")
    assert mean_with_interval(first.new) in html
