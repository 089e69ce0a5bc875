"""Steps and relations add up to the whole."""

from __future__ import annotations

from curation.stats.bounded import bounded_interval
from evaluation.analysis.breakdown import OTHERS, by_relation, by_step
from evaluation.analysis.comparison import score_run
from evaluation.runs.plan import load_metrics
from evaluation.runs.results import load_run
from tests.support.report import two_runs
from tests.support.report.two_runs import METRICS

two = two_runs.two


def test_steps_and_relations_add_up_to_the_whole(two):
    run, metrics = load_run(two), load_metrics(METRICS)
    scores = score_run(run, metrics, "mean")
    (relation,) = by_relation(run, scores, metrics)
    assert [(x.name, x.cases, x.prompts) for x in relation.lines] == [("P36", 8, 16)]
    assert relation.lines[0].values["push"] == bounded_interval(list(scores.means("push", "s_es").values()))
    by_name = {b.title: b for b in by_step(run, scores, metrics)}
    assert set(by_name) == {"S-ES", "S-NS", "S-BO"}
    assert [(x.name, x.cases, x.prompts) for x in by_name["S-NS"].lines] == [("not stated", 6, 6)]


def test_rare_relations_are_one_line(two):
    run, metrics = load_run(two), load_metrics(METRICS)
    scores = score_run(run, metrics, "mean")
    cases = []
    for n, c in enumerate(run.split.cases):
        relation = c.fact.relation.model_copy(update={"id": f"P{n}"})
        cases.append(c.model_copy(update={"fact": c.fact.model_copy(update={"relation": relation})}))
    many = run._replace(split=run.split._replace(all_cases=tuple(cases)))
    lines = by_relation(many, scores, metrics)[0].lines
    assert len(lines) == 8 and not any(OTHERS in x.name for x in lines)
    from evaluation.analysis import breakdown

    before, breakdown.MOST = breakdown.MOST, 3
    try:
        lines = by_relation(many, scores, metrics)[0].lines
    finally:
        breakdown.MOST = before
    assert [x.cases for x in lines] == [1, 1, 1, 5] and lines[3].name == f"{OTHERS} (5 relations)"
