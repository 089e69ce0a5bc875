"""Every published EM is a whole number of probes: 28 rows of 2,300, 12 of 2,301."""

from __future__ import annotations

from collections import Counter

from evaluation.reproduction.mulfe_arithmetic import numbers_of_probes, probes_note
from evaluation.reproduction.published import printed_figures, published_table

TABLES = ("mulfe-table2", "mulfe-table3", "mulfe-table7")
EARLIER = {
    ("GPT-J", "before"),
    ("GPT-J", "in context"),
    ("GPT-J", "FT full"),
    ("GPT-J", "LoRA"),
    ("GPT2-XL", "before"),
    ("GPT2-XL", "in context"),
    ("GPT2-XL", "MEND"),
    ("GPT-Neo", "before"),
    ("GPT-Neo", "in context"),
    ("GPT-J", "MEND + Stanford"),
    ("GPT-J", "MEND + DOCoR"),
    ("GPT-J", "MEND + E2EQG"),
}


def rows() -> dict[tuple[str, str], dict[str, float]]:
    """EM by model and method, rows that stand in two tables once."""
    out: dict[tuple[str, str], dict[str, float]] = {}
    for name in TABLES:
        for figure in printed_figures(published_table(name)):
            method = {"SIDE, all": "SIDE"}.get(figure.method, figure.method.removesuffix(" + NERQG"))
            row = out.setdefault((figure.model, method), {})
            assert row.get(figure.metric, figure.value) == figure.value, "the same row in two tables"
            row[figure.metric] = figure.value
    return out


def test_rows_are_of_2300_or_of_2301_probes_and_of_no_other_number() -> None:
    fitting = {
        key: numbers_of_probes([row["em_1"], row["em_2"], row["em_3"]], row["em"]) for key, row in rows().items()
    }
    assert Counter(fitting.values()) == {(2300,): 28, (2301,): 12}
    assert {key for key, number in fitting.items() if number == (2301,)} == EARLIER


def test_another_last_digit_is_of_no_whole_number() -> None:
    row = rows()["GPT-J", "SIDE"]
    assert probes_note(row) == ""
    assert probes_note({**row, "em": row["em"] + 0.02}) == "no whole number of probes"
    assert probes_note(rows()["GPT-J", "before"]) == "of 2,301 probes, not 2,300"
