"""A split without a case names what was left out for which reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.splits.split_file import no_case
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.verdicts import Verdict, verdict_key
from tests.support.facts import make_fact

COUNTS = {
    "none of its kind": ({"cases": 0}, "0 facts to edit in the rule's scope)"),
    "all held": (
        {"cases": 0, "facts": 20, "fact: held by fact_dates@1": 20},
        "20 facts to edit in the rule's scope; fact: held",
    ),
    "the most frequent first": (
        {"facts": 1200, "question: dropped by a": 3, "prompt: dropped by b": 4100, "fact: too few prompts": 1200},
        "prompt: dropped by b: 4,100; fact: too few prompts: 1,200; question: dropped by a: 3)",
    ),
    "many": ({"facts": 1, **{f"reason {n}": n for n in range(1, 30)}}, "reason 29: 29; reason 28: 28;"),
    "events": (
        {"cases": 0, "events": 24, "event: too few questions": 24},
        "(24 events in the rule's scope; event: too",
    ),
    "a document": ({"cases": 0, "documents": 1}, "(1 document in the rule's scope)"),
    "not known": (None, "no case; loosen"),
}


@pytest.mark.parametrize("name", COUNTS)
def test_an_empty_split_names_its_counts_per_reason(name: str) -> None:
    counts, words = COUNTS[name]
    text = str(no_case("s", counts))
    assert words in text and "'s'" in text and len(text) < 400


def test_freezing_nothing_says_what_was_left_out_for_which_reason(tmp_path: Path) -> None:
    """Through the store: an undated temporal edit of a source that states no order, with a prompt that would do."""
    fact = make_fact().model_copy(update={"change": "temporal"})
    by = "fact_dates@2"
    verdict = Verdict(key=verdict_key(item_id=fact.id, by=by), item_id=fact.id, by=by, label="unsure", reason="no date")
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([fact, verdict])
        with pytest.raises(UserError) as error:
            freeze(store, "t", SplitRule())
    assert "1 fact to edit" in str(error.value) and "held by fact_dates: 1" in str(error.value)
