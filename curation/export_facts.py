"""Splits as plain facts and edits: our JSONL of facts, CounterFact's original shape, EasyEdit-style records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from curation.export_files import write_array, write_lines
from curation.export_scedit import cloze
from curation.splits import Split
from schemas.cases import Case
from schemas.facts import Object

_NUMBERED = re.compile(r"counterfact/(0|[1-9]\d{0,17})")


def write_facts(split: Split, path: Path) -> int:
    """Our JSONL of facts: the edited facts in order, then the neighbours' facts; returns the number of cases."""
    write_lines(fact_rows(split.cases), path)
    return len(split.cases)


def write_counterfact(split: Split, path: Path) -> int:
    """CounterFact's original shape; returns the number of cases written."""
    return write_array(counterfact_rows(split.cases), path)


def write_easyedit(split: Split, path: Path) -> int:
    """EasyEdit-style records; returns the number of cases written."""
    return write_array(easyedit_rows(split.cases), path)


def fact_rows(cases: Sequence[Case]) -> Iterator[dict[str, Any]]:
    """Whole facts, each once: those to be edited, then (``change`` none or edited elsewhere) the neighbours'."""
    seen = set()
    for fact in (*(c.fact for c in cases), *(n.fact for c in cases for n in c.neighbours)):
        if fact.id not in seen:
            seen.add(fact.id)
            yield fact.payload()


def counterfact_rows(cases: Sequence[Case]) -> Iterator[dict[str, Any]]:
    """Counterfactual cases as ``requested_rewrite`` records; temporal ones are left out: there is no word for them.

    Case ids of CounterFact are kept; other cases get the lowest free numbers. ``neighborhood_prompts`` are the plain
    prompts of the fact, then those of its neighbours that share the old object. ``generation_prompts`` are the script
    questions. Script prompts have no place.
    """
    chosen = [c for c in cases if c.fact.change == "counterfactual"]
    for number, case in zip(_case_ids(chosen), chosen, strict=True):
        fact = case.fact
        assert fact.new is not None
        yield {
            "case_id": number,
            "requested_rewrite": {
                "prompt": fact.prompt,
                "relation_id": fact.relation.id,
                "target_new": _target(fact.new),
                "target_true": _target(fact.old),
                "subject": fact.subject.text,
            },
            "paraphrase_prompts": list(fact.paraphrases),
            "neighborhood_prompts": _plain_neighbours(case),
            "attribute_prompts": [],
            "generation_prompts": [q.text for q in case.questions],
        }


def _case_ids(cases: Iterable[Case]) -> Iterator[int]:
    kept = [int(m[1]) if (m := _NUMBERED.fullmatch(c.fact.key)) else None for c in cases]
    taken, free = {k for k in kept if k is not None}, 0
    for known in kept:
        if known is not None:
            yield known
            continue
        while free in taken:
            free += 1
        yield free
        free += 1


def _target(value: Object) -> dict[str, str]:
    return {"str": value.text, **({"id": value.wikidata} if value.wikidata else {})}


def _plain_neighbours(case: Case) -> list[str]:
    linked = [n.fact.fact_prompt for n in case.neighbours if n.link.how == "same_object"]
    return [*case.fact.neighbour_prompts, *(p for p in dict.fromkeys(linked) if p not in case.fact.neighbour_prompts)]


def easyedit_rows(cases: Iterable[Case]) -> Iterator[dict[str, Any]]:
    """EasyEdit-style records, counterfactual and temporal.

    The flat fields come first (``prompt`` filled in; the first paraphrase; the first neighbour prompt with its object).
    All neighbour prompts and script prompts follow in KnowEdit's lists of ``prompt`` and ``ground_truth``:
    ``portability/Script`` should be answered by the new object after the edit, ``portability/Paraphrase`` too;
    ``locality/Neighbour`` and ``locality/Script_Neighbour`` by what the neighbour fact says.
    """
    for number, case in enumerate(cases):
        fact = case.fact
        assert fact.new is not None
        plain = [(p, fact.old.text) for p in fact.neighbour_prompts]
        plain += [(n.fact.fact_prompt, n.fact.old.text) for n in case.neighbours]
        plain = list(dict.fromkeys(plain))
        near = [(cloze(p.text, p.separator), p.targets[0]) for n in case.neighbours for p in n.prompts]
        scripts = [(cloze(p.text, p.separator), fact.new.text) for p in case.prompts]
        record = {
            "case_id": number,
            "prompt": fact.fact_prompt,
            "subject": fact.subject.text,
            "target_new": fact.new.text,
            "ground_truth": fact.old.text,
            "rephrase_prompt": fact.paraphrases[0] if fact.paraphrases else "",
        }
        if plain:
            record |= {"locality_prompt": plain[0][0], "locality_ground_truth": plain[0][1]}
        paraphrased = [(p, fact.new.text) for p in fact.paraphrases]
        record["portability"] = _probes(Script=scripts, Paraphrase=paraphrased)
        record["locality"] = _probes(Neighbour=plain, Script_Neighbour=near)
        yield record


def _probes(**lists: list[tuple[str, str]]) -> dict[str, list[dict[str, str]]]:
    return {name: [{"prompt": p, "ground_truth": t} for p, t in pairs] for name, pairs in lists.items() if pairs}
