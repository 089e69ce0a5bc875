"""Demonstrations of editing in context, of three kinds: copy, update, retain (IKE, Zheng et al. 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from schemas.cases import Case
from schemas.core.ids import seed

Kind = Literal["copy", "update", "retain"]
KINDS: tuple[Kind, ...] = ("copy", "update", "retain")


class Demonstration(NamedTuple):
    """A prompt with the object that the edited model is to answer."""

    prompt: str
    separator: str
    answer: str

    @property
    def text(self) -> str:
        """Prompt, separator and answer."""
        return self.prompt + self.separator + self.answer


Shows = Mapping[Kind, Sequence[Demonstration]]
"""What a case can show of each kind; a kind it cannot show is empty."""


def of_facts(case: Case) -> Shows:
    """Plain prompts: the fact prompt, its paraphrases, the prompts of neighbours (with their own object)."""
    fact = case.fact
    new = fact.new.text if fact.new else ""
    retained = [Demonstration(n.fact.fact_prompt, " ", n.fact.old.text) for n in case.neighbours]
    retained += [Demonstration(text, " ", fact.old.text) for text in fact.neighbour_prompts]
    return {
        "copy": [Demonstration(fact.fact_prompt, " ", new)],
        "update": [Demonstration(text, " ", new) for text in fact.paraphrases],
        "retain": retained,
    }


def of_scripts(case: Case) -> Shows:
    """Scripts up to the object: those of the fact with the new object, those of neighbours with their own."""
    fact = case.fact
    new = fact.new.text if fact.new else ""
    return {
        "copy": [Demonstration(fact.fact_prompt, " ", new)],
        "update": [Demonstration(p.text, p.separator, new) for p in case.prompts],
        "retain": [Demonstration(p.text, p.separator, p.targets[0]) for n in case.neighbours for p in n.prompts],
    }


def assign(shows: Sequence[Shows], ratio: Sequence[float], *, names: Sequence[str]) -> list[Demonstration | None]:
    """One demonstration of each case, kinds in the given ratio (copy, update, retain).

    In order, each case gets the kind that lags most behind its share among those that it can show; which of its texts
    is drawn from its name. None where a case can show nothing that is wanted.

    Example:
        >>> case = {"copy": [Demonstration("a", " ", "1")], "update": [Demonstration("b", " ", "2")], "retain": []}
        >>> [x.prompt for x in assign([case] * 4, (1, 3, 4), names="wxyz")]
        ['b', 'a', 'b', 'b']
    """
    total, counts = sum(ratio), dict.fromkeys(KINDS, 0)
    out: list[Demonstration | None] = []
    for n, (show, name) in enumerate(zip(shows, names, strict=True), 1):
        able = [k for k, r in zip(KINDS, ratio, strict=True) if r > 0 and show[k]]
        if not able:
            out.append(None)
            continue
        share = dict(zip(KINDS, ratio, strict=True))
        kind = max(able, key=lambda k: (share[k] / total * n - counts[k], share[k]))
        counts[kind] += 1
        out.append(show[kind][seed(name, kind, "demonstration") % len(show[kind])])
    return out
