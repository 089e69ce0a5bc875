"""Checks that are written once: over a store they say what ``judge_one`` says, and what lacks inputs waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from curation.checks.item_check import ItemCheck
from curation.checks.store_checks import CheckContext, run_check
from curation.store.store import Store
from schemas.core.records import Record
from schemas.facts import Fact
from schemas.verdicts import Verdict
from tests.support.facts import make_fact


class ShortSubject(ItemCheck[Fact]):
    """Drops facts whose subject is longer than four letters; countries without a name here lack inputs."""

    name, version, on, about = "short_subject", 1, "fact", "Subjects of four letters at most."
    seen: ClassVar[list[int]] = []

    def inputs_of(self, items: Sequence[Record], around: CheckContext) -> Iterator[tuple[Record, Fact]]:
        self.seen.append(len(items))
        for item in items:
            if isinstance(item, Fact) and item.subject.text != "Nowhere":
                yield item, item

    def applies(self, inputs: Fact) -> bool:
        return inputs.subject.text != "Utopia"

    def judge_one(self, inputs: Fact) -> Verdict:
        return self.verdict(inputs, "keep" if len(inputs.subject.text) <= 4 else "drop", inputs.subject.text)


def test_a_store_gets_what_judge_one_says_and_what_lacks_inputs_stays_due(tmp_path: Path) -> None:
    facts = [make_fact(name, "Lima", "Rome") for name in ("Peru", "Norway", "Utopia", "Nowhere")]
    check = ShortSubject()
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put(facts)
        run_check(store, check)
        verdicts = {v.item_id: (v.label, v.reason) for v in store.all(Verdict)}
        labels = [verdicts.get(fact.id) for fact in facts]
        assert labels == [("keep", "Peru"), ("drop", "Norway"), ("keep", "does not apply"), None]
        assert ShortSubject.seen == [4], "one batch"
        run_check(store, check)
        assert ShortSubject.seen == [4, 1], "only what is due is looked up again"


def test_a_check_that_says_nothing_of_its_inputs_is_no_check() -> None:
    bare: ItemCheck[Fact] = ItemCheck()
    with pytest.raises(NotImplementedError):
        bare.judge_one(make_fact("Peru", "Lima", "Rome"))
