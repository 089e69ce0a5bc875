"""The model card: complete, and no text of a fact breaks out of its cell."""

from __future__ import annotations

import re
from typing import Any

import pytest

from curation.case_sources.support import cases_from_facts
from evaluation.saved_edits.save import SHOWN, card
from tests.support.facts import make_fact

ABOUT: dict[str, Any] = {
    "saved_as": "adapter",
    "model": "org/base",
    "model_revision": "abc",
    "dtype": "bfloat16",
    "method": "rome",
    "method_version": 1,
    "params": {"layer": 5},
    "components": {"corpus": "d1"},
    "facts_digest": "f00",
    "weights": [{"weight": "a.b.weight", "shape": [2, 2], "rank": 1, "norm": 2.0}],
    "environment": {"packages": {"torch": "2", "duckdb": None}},
    "normalisation": "mean",
    "rounding": 0.0,
    "rank": 3,
}


def test_an_adapter_says_how_it_is_served() -> None:
    text = card(ABOUT, cases_from_facts([make_fact()]), [])
    assert text.startswith('---\nlibrary_name: "peft"\nbase_model: "org/base"\n')
    assert "--max-lora-rank 8 " in text and "rank 3 (alpha 3)" in text
    assert "`The capital of Peru is` | `Lima` | `Oslo`" in text and '`{"layer": 5}`' in text and "duckdb" not in text
    assert "vLLM takes ranks up to 512" in card(ABOUT | {"rank": 600}, cases_from_facts([make_fact()]), [])


def test_rounding_is_told() -> None:
    details = ABOUT | {"saved_as": "model", "rounding": 0.25}
    assert "rounding changed the edit by 25.0% of its norm" in card(details, cases_from_facts([make_fact()]), [])


@pytest.mark.parametrize(
    "text", ["a|b", "a\nb", "`x`", "``", "<script>", "---\nx: y", "\x1b[2J", "```", "| a | b |", "x" * 5000]
)
def test_hostile_texts_stay_in_their_cell(text: str) -> None:
    case = cases_from_facts([make_fact("Peru", "Lima", text)])
    lines = card(ABOUT | {"model": text}, case, []).splitlines()
    assert lines.count("---") == 2
    (row,) = [line for line in lines if "The capital of Peru" in line]
    assert len(re.findall(r"(?<!\\)\|", row)) == 5 and "\x1b" not in "".join(lines)


def test_a_long_list_is_shortened() -> None:
    cases = cases_from_facts([make_fact(f"Land {n:03}") for n in range(SHOWN + 7)])
    text = card(ABOUT, cases, [])
    assert text.count("The capital of Land") == SHOWN and "7 more stand in `edit.json`" in text
