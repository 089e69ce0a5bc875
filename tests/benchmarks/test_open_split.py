"""The figures of the open split: counted right, and the page holds those that need no model."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.shipped import shipped_split
from curation.shipped.open_cases import FOLDER
from schemas.facts import Fact
from schemas.verdicts import Verdict, verdict_key
from tests.support.facts import peru_fact

benchmark = pytest.importorskip("benchmarks.open_split", reason="benchmarks are not shipped")
PAGE = Path(__file__).parents[2] / "docs" / "open-split.md"


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


def test_the_page_holds_what_the_sources_say() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert benchmark.cuts_table(shipped_split("open")) in page
    assert benchmark.funnel_table(FOLDER / "funnel.jsonl") in page
    before, after = page.partition(benchmark.MARKS[0])[0], page.partition(benchmark.MARKS[1])[2]
    page_text = benchmark.put_between(page, "new")
    assert (
        page_text.startswith(before)
        and page_text.endswith(after)
        and "The funnel" in page
        and "The funnel" not in page_text
    )
