"""The figures of the open split: counted right, and the page holds those that need no model."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.shipped import shipped_split
from evaluation.metrics import METRICS
from schemas.answers import Answer, TargetScore
from schemas.facts import Fact
from schemas.runs import CaseResult
from schemas.verdicts import Verdict, verdict_key
from tests.support.facts import peru_fact

benchmark = pytest.importorskip("benchmarks.open_split", reason="benchmarks are not shipped")
PAGE = Path(__file__).parents[2] / "benchmarks" / "results" / "open-split.md"


def verdict(fact: Fact, ranks: str) -> Verdict:
    by = "known_before@1"
    reason = f"the old object ranks {ranks} of 9 under 3 plain prompts"
    key = verdict_key(item_id=fact.id, by=by)
    return Verdict(key=key, item_id=fact.id, by=by, label=None, reason=reason, value=0.5, unit="share")


def test_known_under_the_fact_prompt_and_under_any() -> None:
    facts = [peru_fact(name) for name in ("a", "b", "c", "d")]
    verdicts = {
        f.id: verdict(f, ranks) for f, ranks in zip(facts, ("1, 1, 2", "4, 1, 9", "2, 2, 2", "3, 2, 11"), strict=True)
    }
    first, any_ = benchmark.known_cells(facts, verdicts)
    assert first.startswith("1 of 4: 0.25 [") and any_.startswith("2 of 4: 0.50 [")
    del verdicts[facts[0].id]
    assert benchmark.known_cells(facts, verdicts) == ("not judged", "not judged")


def test_the_tables_beside_the_page_are_its_own(tmp_path: Path) -> None:
    copy = tmp_path / PAGE.name
    copy.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    benchmark.write_csv(copy, benchmark.CSV)
    made = {path.name: path.read_text(encoding="utf-8") for path in copy.with_suffix("").iterdir()}
    assert made == {path.name: path.read_text(encoding="utf-8") for path in PAGE.with_suffix("").iterdir()}
    assert len(made) == len(benchmark.CSV)
    assert "author,counterfactual,test,10,4,10,0.40,0.17,0.69,5,10,0.50,0.24,0.76" in made["relations.csv"]
    assert "rome,100.0,98.9,100.0,96.8,95.0,98.1,74.6" in made["methods.csv"]


def test_the_page_holds_what_the_sources_say() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert benchmark.cuts_table(shipped_split("open")) in page
    before, after = page.partition(benchmark.MARKS[0])[0], page.partition(benchmark.MARKS[1])[2]
    page_text = benchmark.put_between(page, "new")
    assert (
        page_text.startswith(before)
        and page_text.endswith(after)
        and "Where scripts are cut" in page
        and "Where scripts are cut" not in page_text
    )


def test_log_odds_by_hand() -> None:
    """Two targets a probe, the new object first: log-probabilities of -2 over two tokens and of -1.5 over one."""
    case = next(c for c in shipped_split("open:dev").cases if len(c.prompts) == 4)
    results = {}
    for key, old in (("a", -1.5), ("b", -0.5)):
        one = case.model_copy(update={"key": key})
        answers = tuple(
            Answer(
                probe=probe.id,
                targets=(
                    TargetScore(text=probe.targets[0], logprob=-2.0, tokens=2),
                    TargetScore(text=probe.targets[1], logprob=old, tokens=1),
                ),
            )
            for metric in (METRICS.get("es")(), METRICS.get("s_es")())
            for probe in metric.probes(one)
        )
        results[key] = CaseResult(run="r", case=key, answers=answers, seconds_edit=0, seconds_score=0)
    cases = [case.model_copy(update={"key": key}) for key in ("a", "b")]
    facts, scripts, preferred = benchmark.log_odds_cells(cases, results)
    assert facts == scripts == "+0.00", "means of -0.5 and 0.5; two cases are too few for an interval"
    assert preferred.startswith("4 of 8: 0.50 [")
