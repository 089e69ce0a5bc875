"""How well the shipped words of steps tell wrong cuts from good ones: cross-validated over kinds, sources and words.

A step without any of the words that go with the kind of its object is held for people
(``construction.cuts.step_words``). The words came from the prompts of the splits ``mini`` and ``open`` and from general
knowledge. Here some are left out in turn, and what is left is measured on labelled scripts that gave none of them, and
on the prompts whose words were left out:

- all words; none; each kind of object without its words;
- without the words that only one half of the prompts holds ("sources", two halves by a seed, in turn);
- nothing but the words of one half of the prompts;
- half of the words of every kind, drawn by ten seeds.

Counted is what the other rules keep: how many wrong cuts the words find among that, and how many good items they lose.

Run: python -m benchmarks.step_words --half test
     python -m benchmarks.step_words --half test --page docs/leakage.md
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from benchmarks.checks.script_benchmark import (
    Half,
    LabelledScript,
    ScriptDecision,
    fresh_scripts,
    labelled_scripts,
    later_scripts,
    right,
)
from benchmarks.checks.script_decisions import decisions_by_rules
from benchmarks.labelled_scripts import WRONG_CUTS
from benchmarks.open_split import publish
from benchmarks.support.tables import share, table
from construction.cuts.cut_place import CutPlace
from construction.cuts.step_words import Tables, foreign_step, step_parts, step_tables
from construction.mentions.name_forms import is_of_person
from curation.shipped import shipped_split
from schemas.core.ids import seed
from schemas.facts import Relation
from schemas.scripts import strip_label

MARKS = ("<!-- step words -->", "<!-- end of the step words -->")
DRAWS = 10
_DOUBT = "no_mention: cut at a doubtful place: "


class Source(NamedTuple):
    """The place of a cut in a prompt of ours, and the half of the cases that it belongs to (0 or 1)."""

    place: CutPlace
    half: int


class Variant(NamedTuple):
    """Words to try, and the places of our own prompts that gave none of them."""

    name: str
    tables: Tables
    held_out: Sequence[Source]


def place_before(text: str, relation: Relation) -> CutPlace:
    r"""The place that a prompt ends at, as far as the words before it say.

    Example:
        >>> place_before("How?\nStep 1: Pack\nStep 2: Fly to", Relation(id="P36", label="capital")).before
        'Fly to '
    """
    step = strip_label(text.rpartition("\n")[2])
    return CutPlace(f"{step} ", relation.id, "", is_of_person(relation))


def kept_otherwise(scripts: Iterable[LabelledScript]) -> list[tuple[LabelledScript, CutPlace, bool]]:
    """The scripts that the other rules keep, each with its place and whether it is a good item, rightly cut."""
    scripts = list(scripts)
    decisions = decisions_by_rules(scripts)
    kept = []
    for script in scripts:
        decision = decisions[script.key]
        if decision.prompt is None:
            continue
        place = place_before(decision.prompt, script.relation)
        why = foreign_step(place)
        if decision.label != "keep" and decision.reasons != (_DOUBT + why,):
            continue
        good = script.kind == "good" and right(script, ScriptDecision("keep", decision.prompt))
        if good or (script.kind in WRONG_CUTS and script.verdict == "drop"):
            kept.append((script, place, good))
    return kept


def sources() -> list[Source]:
    """The places of all script prompts of ``mini`` and ``open``, in two halves by the key of their case."""
    return [
        Source(place_before(prompt.text, case.fact.relation), seed(case.key, "step words") % 2)
        for name in ("mini", "open")
        for case in shipped_split(name).cases
        for prompt in case.prompts
    ]


def words_of(places: Iterable[CutPlace]) -> dict[str, frozenset[str]]:
    """The words of steps by the line of the table that they would stand in."""
    words: dict[str, set[str]] = defaultdict(set)
    for place in places:
        parts = step_parts(place)
        for line in (parts.kind, f"{parts.kind} {parts.last}"):
            words[line] |= parts.content
    return {line: frozenset(found) for line, found in words.items()}


def variants(tables: Tables, prompts: Sequence[Source], *, draws: int = DRAWS) -> Iterator[Variant]:
    """All tables to try."""
    kinds = [line for line in tables if line != "small"]
    yield Variant("all words", tables, ())
    for kind in [line for line in kinds if " " not in line]:
        rest = {line: words for line, words in tables.items() if line.split()[0] != kind}
        yield Variant(f"without those for a {kind}", rest, ())
    halves = [[s for s in prompts if s.half == n] for n in (0, 1)]
    found = [words_of(s.place for s in half) for half in halves]
    empty: frozenset[str] = frozenset()
    for n in (0, 1):
        only = {line: found[n].get(line, empty) - found[1 - n].get(line, empty) for line in kinds}
        rest = {line: words - only.get(line, empty) for line, words in tables.items()}
        yield Variant(f"without what only half {'AB'[n]} of the prompts holds", rest, halves[n])
    for n in (0, 1):
        given = {line: found[n].get(line, empty) if line in kinds else words for line, words in tables.items()}
        yield Variant(f"only the words of half {'AB'[n]} of the prompts", given, halves[1 - n])
    for draw in range(draws):
        half = {line: words if line == "small" else _drawn(words, draw) for line, words in tables.items()}
        yield Variant(f"half of the words, draw {draw + 1}", half, ())


def _drawn(words: frozenset[str], draw: int) -> frozenset[str]:
    ordered = sorted(words, key=lambda word: seed(word, "step words", str(draw)))
    return frozenset(ordered[: len(ordered) // 2])


def held(place: CutPlace, tables: Tables) -> bool:
    """Whether a step is held for people by these words."""
    return bool(foreign_step(place, tables=tables))


def rows(
    kept: Sequence[tuple[LabelledScript, CutPlace, bool]], tables: Tables, prompts: Sequence[Source]
) -> list[list[str]]:
    """A line for each variant; the draws in one line, with the least and the most."""
    wrong = [place for _, place, good in kept if not good]
    good = [place for _, place, good in kept if good]
    lines, drawn = [], []
    for variant in variants(tables, prompts):
        counts = [sum(held(place, variant.tables) for place in places) for places in (wrong, good)]
        if "draw" in variant.name:
            drawn.append(counts)
            continue
        others = [source.place for source in variant.held_out]
        mine = share(sum(held(place, variant.tables) for place in others), len(others)) if others else "-"
        lines.append([variant.name, share(counts[0], len(wrong)), share(counts[1], len(good)), mine])
    spread: Callable[[int], str] = lambda n: f"{min(c[n] for c in drawn)} to {max(c[n] for c in drawn)} of "  # noqa: E731
    lines.append([f"half of the words, {len(drawn)} draws", f"{spread(0)}{len(wrong)}", f"{spread(1)}{len(good)}", "-"])
    return lines


def chosen(half: Half) -> list[LabelledScript]:
    """The labelled, the later and the fresh scripts of one half."""
    return [*labelled_scripts(half), *later_scripts(half), *fresh_scripts(half)]


def step_words_table(half: Half, tables: Mapping[str, frozenset[str]] | None = None) -> str:
    """The table as Markdown."""
    heads = [f"words ({half})", "wrong cuts found", "good items lost", "prompts of the half left out that are held"]
    return table(heads, rows(kept_otherwise(chosen(half)), tables or step_tables(), sources()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, or write it into a page."""
    parser = argparse.ArgumentParser(prog="benchmarks.step_words", description=__doc__)
    parser.add_argument("--half", choices=get_args(Half), default="tuning", help="which labelled scripts (tuning)")
    parser.add_argument("--page", type=Path, help="the page that gets the table; printed where left out")
    options = parser.parse_args(arguments)
    publish(step_words_table(options.half), options.page, marks=MARKS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
