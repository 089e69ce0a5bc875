"""What small models bring with each profile: yields of stores, facts with their scripts, and a sheet for blind reading.

The stores are made with the command, one a profile, all from the same facts (every 21st shipped fact, 40 in all):

    python -m benchmarks.authoring.small_models --facts facts40.jsonl
    scedit construct facts40.jsonl --store local.duckdb --model local --questions 4 --neighbours 0 --threads 1
    scedit construct facts40.jsonl --store embedded.duckdb --questions 4 --neighbours 0 --threads 1

Run: python -m benchmarks.authoring.small_models --store embedded=embedded.duckdb --store local=local.duckdb
     python -m benchmarks.authoring.small_models --store ... --print 30    (facts, a kept prompt of each)
     python -m benchmarks.authoring.small_models --store ... --draw 20 --seed 13 --key key.json
     python -m benchmarks.authoring.small_models --fresh --facts fresh40.jsonl    (40 others, in a drawn order)
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from curation.loaders import load
from curation.stats.intervals import wilson_interval
from curation.store.store import Store
from schemas.facts import Fact
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion

EVERY, FACTS = 21, 40
FRESH = 10  # the first of 40 facts that no prompt was written with in mind
WANTED = 4  # questions a fact, as in the paper
ENOUGH = 3  # kept prompts a fact that the issue aims at
_AGAINST = ("drop", "unsure", "unscored")


class KeptPrompt(NamedTuple):
    """A prompt against which no check of question, script or prompt speaks, with its fact."""

    fact: Fact
    prompt: ScriptPrompt

    def line(self) -> str:
        """The prompt in one line, the target after the mark of the cut."""
        return f"{self.prompt.text.replace(chr(10), ' / ')} ^ {self.prompt.targets[0]}"


class ProfileYield(NamedTuple):
    """What came of one profile.

    Attributes:
        facts: Facts that were finished.
        kept: Kept prompts, one a question.
        enough: Facts with three kept prompts or more.
        some: Facts with one or more.
        scripts: Scripts written, rejected attempts included.
        tokens_out: Tokens that the model wrote.
    """

    facts: int
    kept: int
    enough: int
    some: int
    scripts: int
    tokens_out: int

    def row(self, name: str) -> str:
        """A row of the table."""
        wanted = WANTED * self.facts
        cells = [
            f"`{name}`",
            str(self.facts),
            f"{self.kept} of {wanted}: {wilson_interval(self.kept, wanted).text(2)}",
            f"{self.kept / max(1, self.facts):.2f}",
            f"{self.enough} of {self.facts}: {wilson_interval(self.enough, self.facts).text(2)}",
            f"{self.kept / self.some:.2f}" if self.some else "-",
            str(self.scripts),
            f"{1000 * self.kept / self.tokens_out:.1f}" if self.tokens_out else "-",
        ]
        return f"| {' | '.join(cells)} |"


HEAD = (
    "| profile | facts | kept, of four a fact | kept a fact | facts with three or more | S-effects a case | "
    "scripts written | kept a thousand tokens written |\n| --- | --- | --- | --- | --- | --- | --- | --- |"
)


def forty_facts(*, fresh: bool = False, seed: int = 13) -> list[Fact]:
    """The facts of the comparison; or 40 others in a drawn order, so that a stopped run is a sample of them."""
    facts = list(load("shipped").facts[FRESH if fresh else 0 :: EVERY][:FACTS])
    if fresh:
        random.Random(seed).shuffle(facts)
    return facts


def kept_prompts(store: Store) -> list[KeptPrompt]:
    """One kept prompt of each question, in order of their keys."""
    against = {v.item_id for v in store.verdicts() if v.label in _AGAINST and v.check != "fact_dates"}
    facts = {f.key: f for f in store.all(Fact)}
    questions = {q.key: q for q in store.all(ScriptQuestion)}
    scripts = {s.key: s for s in store.all(Script)}
    by_question: dict[str, KeptPrompt] = {}
    for prompt in sorted(store.all(ScriptPrompt), key=lambda p: p.key):
        chain = (prompt, questions.get(prompt.question), scripts.get(prompt.script or ""))
        if prompt.fact in facts and not {r.id for r in chain if r is not None} & against:
            by_question.setdefault(prompt.question, KeptPrompt(facts[prompt.fact], prompt))
    return list(by_question.values())


def yields(store: Store) -> ProfileYield:
    """What came of the profile whose store this is."""
    prompts = kept_prompts(store)
    count = {key: sum(k.fact.key == key for k in prompts) for key in {k.fact.key for k in prompts}}
    calls = {line.request: line.tokens_out or 0 for line in store.lineages() if line.request}
    return ProfileYield(
        facts=sum(1 for _ in store.all(Fact)),
        kept=len(prompts),
        enough=sum(n >= ENOUGH for n in count.values()),
        some=len(count),
        scripts=sum(1 for _ in store.all(Script)),
        tokens_out=sum(calls.values()),
    )


def sheet(by_profile: Mapping[str, Sequence[KeptPrompt]], n: int, seed: int) -> list[tuple[str, str]]:
    """``n`` items of each profile, mixed: the profile, and what a reader is shown, which does not name it."""
    rng = random.Random(seed)
    drawn = [
        (name, one) for name, items in sorted(by_profile.items()) for one in rng.sample(list(items), min(n, len(items)))
    ]
    rng.shuffle(drawn)
    return [(name, f"[{_fact(one.fact)}] {one.line()}") for name, one in drawn]


def printed(by_profile: Mapping[str, Sequence[KeptPrompt]], n: int) -> list[str]:
    """Facts with their first kept prompt under each profile, as Markdown; facts of the first profile, in its order."""
    lines = []
    facts = dict.fromkeys(k.fact.key for items in by_profile.values() for k in items)
    named = {k.fact.key: k.fact for items in by_profile.values() for k in items}
    for number, key in enumerate(list(facts)[:n], 1):
        lines.append(f"{number}. {_fact(named[key])}")
        for name, items in by_profile.items():
            first = next((k.line() for k in items if k.fact.key == key), "nothing kept, or not reached")
            lines.append(f"    - `{name}`: {first}")
    return lines


def _fact(fact: Fact) -> str:
    new = fact.new.text if fact.new else "no change"
    return f"{fact.subject.text}, {fact.relation.label or fact.relation.id}: {fact.old.text} -> {new}"


def _named(texts: Iterable[str]) -> dict[str, Path]:
    return {name: Path(path) for name, _, path in (text.partition("=") for text in texts)}


def main() -> None:
    """Print the table, the facts or the sheet; or write the facts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=Path, help="Write the 40 facts into this file.")
    parser.add_argument("--fresh", action="store_true", help="Others, that nothing was tuned on, in a drawn order.")
    parser.add_argument("--store", action="append", default=[], metavar="PROFILE=STORE")
    parser.add_argument("--print", type=int, dest="number", help="Print so many facts with a kept prompt of each.")
    parser.add_argument("--draw", type=int, help="Draw so many items of each profile for a reader.")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--key", type=Path, help="Write the profiles of the drawn items here, in their order.")
    options = parser.parse_args()
    if options.facts:
        rows = forty_facts(fresh=options.fresh)
        options.facts.write_text("".join(f"{f.model_dump_json()}\n" for f in rows), encoding="utf-8")
    by_profile, rows_ = {}, [HEAD]
    for name, path in _named(options.store).items():
        with Store.open(path) as store:
            by_profile[name] = kept_prompts(store)
            rows_.append(yields(store).row(name))
    if options.draw:
        items = sheet(by_profile, options.draw, options.seed)
        print("\n".join(f"{n}. {text}" for n, (_, text) in enumerate(items, 1)))
        if options.key:
            options.key.write_text(json.dumps([name for name, _ in items]), encoding="utf-8")
    elif options.number:
        print("\n".join(printed(by_profile, options.number)))
    elif by_profile:
        print("\n".join(rows_))


if __name__ == "__main__":
    main()
