"""A check over a store that measures, stops or is silent where it is told to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from curation.checks.store_checks import CheckContext, StoreCheck
from schemas.core.config import Options
from schemas.core.records import Record
from schemas.facts import Fact
from schemas.verdicts import Verdict


class Length(StoreCheck):
    """Characters of a fact's prompt."""

    name, version, on, about = "length", 1, "fact", "characters of the prompt"
    batch = 2

    class Params(Options):
        fail_at: str = ""
        silent_on: str = ""

    def judge(self, items: Sequence[Record], around: CheckContext) -> Iterator[Verdict]:
        for item in items:
            assert isinstance(item, Fact)
            if item.key == self.params.fail_at:
                raise KeyboardInterrupt
            if item.key != self.params.silent_on:
                yield self.verdict(item, None, value=float(len(item.prompt)), unit="characters")
