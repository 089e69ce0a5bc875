"""A larger sample holds a smaller one; the table counts what each check said of the sample, and of nothing else."""

from __future__ import annotations

from pathlib import Path

from benchmarks.open.second_reader import drawn, second_reader_table
from curation.shipped import shipped_split
from curation.store.store import Store
from schemas.verdicts import Label, Verdict, verdict_key


def test_a_larger_sample_holds_the_smaller_one() -> None:
    split = shipped_split("open")
    prompts, questions = drawn(split, 60)
    more_prompts, more_questions = drawn(split, 61)
    assert more_prompts[:60] == prompts and more_questions[:60] == questions
    assert len({p.id for p in prompts}) == len({q.id for q in questions}) == 60
    relations = {
        case.fact.relation.label for case in split.cases if {p.id for p in case.prompts} & {p.id for p in prompts}
    }
    assert len(relations) > 15, "from all over the split"


def _verdict(item: str, label: Label, by: str = "verify_cut@3") -> Verdict:
    key = verdict_key(item_id=item, by=by, model="reader")
    return Verdict(key=key, item_id=item, by=by, label=label, reason="as it is", model="reader")


def test_the_table_counts_the_sample_alone(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([_verdict("a", "keep"), _verdict("b", "unsure"), _verdict("c", "unscored"), _verdict("d", "drop")])
        store.put([_verdict("a", "keep", by="no_mention@5")])
        text = second_reader_table(store, {"a", "b", "c"})
    (row,) = [line for line in text.splitlines() if "verify_cut" in line]
    assert "1 of 3: 0.33" in row and "1 unscored, 1 unsure" in row and "no_mention" not in text
