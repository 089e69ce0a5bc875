"""Do the cuts of the open split lead to the object? Ranks and odds there, and what a telling word adds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from benchmarks.support.tables import share, table
from curation.splits.split_file import Split
from schemas.core.ids import seed
from schemas.scripts import ScriptPrompt
from schemas.verdicts import Verdict

NEAR = 5
ADDS = 2.0  # bits that a word right before the cut adds to the old object
_RANK = r"(\d+) of \d+ \(([+-][\d.]+) bits\)"
_PLACE = re.compile(rf"ranks {_RANK}, under the plain prompt {_RANK}")


def one_a_case(split: Split) -> list[ScriptPrompt]:
    """One script prompt of each case, drawn by its id: all would take half an hour of one core."""
    return [min(case.prompts, key=lambda p: seed(p.id, "cut")) for case in split.cases if case.prompts]


def all_own(split: Split) -> list[ScriptPrompt]:
    """The script prompts of the edited facts; not those of neighbours."""
    return [prompt for case in split.cases for prompt in case.prompts]


class Guidance(NamedTuple):
    """Rank of the old object among the relation's, and its odds in bits, at the cut and under the plain prompt."""

    rank: int
    bits: float
    plain_rank: int
    plain_bits: float


def guidance(reason: str) -> Guidance:
    """Read what a verdict of ``cut_guidance`` says.

    Example:
        >>> guidance("at the cut 'Oslo' ranks 2 of 9 (-1.50 bits), under the plain prompt 1 of 9 (+3.25 bits)")
        Guidance(rank=2, bits=-1.5, plain_rank=1, plain_bits=3.25)
    """
    match = _PLACE.search(reason)
    if match is None:
        raise ValueError(f"no ranks in: {reason}")
    return Guidance(int(match[1]), float(match[2]), int(match[3]), float(match[4]))


def guidance_rows(prompts: Sequence[ScriptPrompt], by_check: Mapping[str, Mapping[str, Verdict]]) -> list[list[str]]:
    """A line each for all prompts and for those whose fact the model knows: shares and medians; none unjudged."""
    found = [v for p in prompts if (v := by_check["cut_guidance"].get(p.id)) and v.value is not None]
    if len(found) < len(prompts):
        return [["all", "not judged", *["-"] * 4]]
    places = [guidance(verdict.reason) for verdict in found]
    known = [place for place in places if place.plain_rank == 1]
    return [_line(name, some) for name, some in (("all", places), ("old object first under the fact prompt", known))]


def telling_words(prompts: Sequence[ScriptPrompt], by_check: Mapping[str, Mapping[str, Verdict]]) -> str:
    """How many prompts end in a word that fits some objects only, and how many of those it raises the old one in."""
    found = [v for p in prompts if (v := by_check["telling_word"].get(p.id))]
    if len(found) < len(prompts):
        return "Telling words before the cut: not judged."
    bits = [v.value for v in found if v.value is not None]
    high = sum(value >= ADDS for value in bits)
    return (
        f"{len(bits)} of {len(prompts)} script prompts end in an article or a verb's number; in {high} of them it adds "
        f"{ADDS:g} bits or more to the old object against the new one."
    )


def guidance_table(split: Split, by_check: Mapping[str, Mapping[str, Verdict]], model: str) -> str:
    """What a model says of the cuts of the edited facts' scripts."""
    heads = [f"{model}, one script prompt a case", "n", "old object first", f"among the first {NEAR}"]
    heads += ["bits at the cut, median", "bits under the fact prompt, median"]
    return f"{table(heads, guidance_rows(one_a_case(split), by_check))}\n\n{telling_words(all_own(split), by_check)}"


def _line(name: str, places: Sequence[Guidance]) -> list[str]:
    hits = (sum(place.rank <= most for place in places) for most in (1, NEAR))
    middles = ([p.bits for p in places], [p.plain_bits for p in places])
    return [
        name,
        str(len(places)),
        *(share(n, len(places)) for n in hits),
        *(f"{median(values):+.1f}" if values else "-" for values in middles),
    ]
