"""A store with a few facts and script prompts, and a scorer whose log-probabilities are written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from pathlib import Path

from curation.store.store import Store
from schemas.answers import Answer, TargetScore
from schemas.facts import Entity, Fact, Object
from schemas.probes import ScoreProbe
from schemas.scripts import ScriptPrompt
from tests.support.facts import peru_fact

PERU = peru_fact()
NORWAY = peru_fact(
    "f/norway",
    subject=Entity(text="Norway", aliases=("Kingdom of Norway",)),
    old=Object(text="Oslo"),
    new=Object(text="Quito"),
    paraphrases=(),
)
FACTS = (PERU, NORWAY)


def prompt(of: Fact, text: str, *, key: str = "p", separator: str = " ", old: str | None = None) -> ScriptPrompt:
    return ScriptPrompt(
        key=f"{of.key}/{key}",
        fact=of.key,
        text=text,
        offset=len(text) + len(separator),
        separator=separator,
        targets=(old or of.old.text,),
    )


VISIT = prompt(PERU, "How can I visit Peru's capital?\nStep 1: Book a flight\nStep 2: Fly to")
NORTH = prompt(NORWAY, "How to see the north?\nStep 1: Leave Norway and come back to", separator=" (")


def filled(path: Path, *more: ScriptPrompt | Fact) -> Store:
    store = Store.open(path, create=True)
    store.put([*FACTS, VISIT, NORTH, *more])
    return store


class FakeLM:
    """P(target | prompt) from a table by prompt; what is not in it is 1/16. Counts what it is asked."""

    def __init__(self, table: Mapping[str, Mapping[str, float]]) -> None:
        self.table, self.asked = table, list[ScoreProbe]()

    def score(self, probes: Sequence[ScoreProbe]) -> list[Answer]:
        self.asked += probes
        return [self._one(p) for p in probes]

    def _one(self, probe: ScoreProbe) -> Answer:
        chances = self.table.get(probe.prompt, {})
        if chances.get("error"):
            return Answer(probe=probe.id, error="the fake is out of order")
        targets = [
            TargetScore(text=t, logprob=log(chances.get(t, 1 / 16)), tokens=len(t.split())) for t in probe.targets
        ]
        return Answer(probe=probe.id, targets=tuple(targets))
