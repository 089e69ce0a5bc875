"""Splits of facts in other people's shapes: our facts, CSV, CounterFact, EasyEdit, ScEdit-CF and ScEdit-T."""

from __future__ import annotations

import csv
import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from curation.files.atomic import atomic_file
from curation.files.json_files import write_array, write_lines
from curation.loaders.sources import COUNTERFACT, KNOWEDIT, SCEDIT_CF, SCEDIT_T, Upstream
from curation.splits.split_file import NONE, Extras, Split
from curation.splits.visible_texts import record_keys
from curation.store.writer import chunks
from schemas.cases import AnyCase, Case
from schemas.facts import Entity, Object, Source

C = TypeVar("C", bound=AnyCase)
_FIELDS = {"attribute_prompts": list, "generation_prompts": list, "pararel_idx": int}
_NUMBERED = re.compile(r"counterfact/(0|[1-9]\d{0,17})")


CSV_COLUMNS = ["key", "subject", "subject_aliases", "relation", "prompt", "old", "old_aliases", "new", "new_aliases"]
CSV_COLUMNS += ["changed_on", "paraphrases", "source", "licence", "language"]
"""The columns of our table of facts."""


def write_facts(split: Split, path: Path) -> int:
    """Our JSONL: the edited facts in order, the neighbours' facts, the extras; returns the number of cases."""
    extras = ({"kind": e.kind, **e.payload()} for e in split.extras)
    write_lines(chain(fact_rows(split.cases), extras), path)
    return len(split.cases)


def write_csv(split: Split, path: Path) -> int:
    """The edited facts as the table that our loader reads; returns the number of cases."""
    with atomic_file(path, "the table") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(CSV_COLUMNS)
        for fact in (case.fact for case in split.cases):
            new = fact.new or Entity(text="-")
            lists = [fact.subject.aliases, fact.old.aliases, new.aliases, fact.paraphrases]
            subject, old, other, paraphrases = ("|".join(names) for names in lists)
            row = [fact.key, fact.subject.text, subject, fact.relation.id, fact.prompt, fact.old.text, old]
            row += [new.text if fact.new else "", other, fact.changed_on or "", paraphrases]
            table.writerow([*row, fact.source.name, fact.source.licence, fact.language])
    return len(split.cases)


def fact_rows(cases: Sequence[Case]) -> Iterator[dict[str, Any]]:
    """Whole facts, each once: those to be edited, then (``change`` none or edited elsewhere) the neighbours'."""
    seen = set[str]()
    for fact in chain((c.fact for c in cases), (n.fact for c in cases for n in c.neighbours)):
        if fact.id not in seen:
            seen.add(fact.id)
            yield fact.payload()


def counterfact_rows(cases: Sequence[Case], extras: Extras = NONE) -> Iterator[dict[str, Any]]:
    """Counterfactual cases as ``requested_rewrite`` records; temporal ones are left out: there is no word for them.

    Case ids of CounterFact are kept; other cases get the lowest free numbers. ``neighborhood_prompts`` are the plain
    prompts of the fact, then those of its neighbours that share the old object. ``generation_prompts`` are the script
    questions, then CounterFact's own where the extras hold them; ``attribute_prompts`` and ``pararel_idx`` come from
    there too. Script prompts have no place.
    """
    taken = {_number(case) for case in cases if _fits_format(case)}
    free = (n for n in itertools.count() if n not in taken)
    for case, more in with_source_fields(filter(_fits_format, cases), extras):
        number, fact = _number(case), case.fact
        fields: dict[str, Any] = {k: v for k, v in more[fact.key].items() if isinstance(v, _FIELDS.get(k, ()))}
        linked = dict.fromkeys(n.fact.fact_prompt for n in case.neighbours if n.link.how == "same_object")
        near = [*fact.neighbour_prompts, *(p for p in linked if p not in fact.neighbour_prompts)]
        prompts = dict.fromkeys([*(q.text for q in case.questions), *fields.get("generation_prompts", ())])
        yield {
            "case_id": next(free) if number is None else number,
            "requested_rewrite": {
                "prompt": fact.prompt,
                "relation_id": fact.relation.id,
                "target_new": _target(fact.new_object),
                "target_true": _target(fact.old),
                "subject": fact.subject.text,
            },
            "paraphrase_prompts": list(fact.paraphrases),
            "neighborhood_prompts": near,
            "attribute_prompts": fields.get("attribute_prompts", []),
            "generation_prompts": list(prompts),
            **({"pararel_idx": fields["pararel_idx"]} if "pararel_idx" in fields else {}),
            **stated_source(fact.source, COUNTERFACT),
        }


def stated_source(source: Source, published: Upstream) -> dict[str, Any]:
    """The field ``source`` of a record that is none of the published data; our loaders read it, others ignore it."""
    return {} if source.name == published.name else {"source": source.model_dump(exclude_none=True)}


def with_source_fields(cases: Iterable[C], extras: Extras) -> Iterator[tuple[C, defaultdict[str, dict[str, Any]]]]:
    """Cases, each with the fields of the source's records that ours do not carry, by the keys of ours."""
    for portion in chunks(cases):
        fields: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        for extra in extras.of([key for case in portion for key in record_keys(case)]):
            if extra.name == "fields":
                fields[extra.subject_key] |= extra.value
        yield from ((case, fields) for case in portion)


def _fits_format(case: Case) -> bool:
    return case.fact.change == "counterfactual"


def _number(case: Case) -> int | None:
    """CounterFact's own number of a case."""
    return int(m[1]) if (m := _NUMBERED.fullmatch(case.fact.key)) else None


def _target(value: Object) -> dict[str, str]:
    return {"str": value.text, **({"id": value.wikidata} if value.wikidata else {})}


def easyedit_rows(cases: Iterable[Case], knowedit_lists: bool = False) -> Iterator[dict[str, Any]]:
    """EasyEdit-style records, counterfactual and temporal.

    The flat fields come first (``prompt`` filled in; the first paraphrase; the first neighbour prompt with its object).
    All neighbour prompts and script prompts follow in KnowEdit's lists of ``prompt`` and ``ground_truth``:
    ``portability/Script`` should be answered by the new object after the edit, ``portability/Paraphrase`` too;
    ``locality/Neighbour`` and ``locality/Script_Neighbour`` by what the neighbour fact says.

    EasyEdit's own reader looks for other names, which ``knowedit_lists`` adds: ``Reasoning`` repeats ``Script``,
    ``Relation_Specificity`` repeats ``Neighbour``, and ``Subject_Aliasing`` asks the fact prompt of each alias of the
    subject. Their right answers are lists of alias lists, as that reader takes the first letter of a lone text.
    """
    for number, case in enumerate(cases):
        fact = case.fact
        plain = [(p, fact.old.text) for p in fact.neighbour_prompts]
        plain += [(n.fact.fact_prompt, n.fact.old.text) for n in case.neighbours]
        plain = list(dict.fromkeys(plain))
        near = [(cloze(p.text, p.separator), p.targets[0]) for n in case.neighbours for p in n.prompts]
        scripts = [(cloze(p.text, p.separator), fact.new_object.text) for p in case.prompts]
        record: dict[str, Any] = {
            "case_id": number,
            "prompt": fact.fact_prompt,
            "subject": fact.subject.text,
            "target_new": fact.new_object.text,
            "ground_truth": fact.old.text,
            "rephrase_prompt": fact.paraphrases[0] if fact.paraphrases else "",
        }
        if plain:
            record |= {"locality_prompt": plain[0][0], "locality_ground_truth": plain[0][1]}
        paraphrased = [(p, fact.new_object.text) for p in fact.paraphrases]
        record["portability"] = _probes(Script=scripts, Paraphrase=paraphrased)
        record["locality"] = _probes(Neighbour=plain, Script_Neighbour=near)
        if knowedit_lists:
            aliased = [(fact.prompt.replace("{}", alias), fact.new_object.text) for alias in fact.subject.aliases]
            record["portability"] |= _nested_probes(Reasoning=scripts, Subject_Aliasing=aliased)
            record["locality"] |= _nested_probes(Relation_Specificity=plain)
        yield record | stated_source(fact.source, KNOWEDIT)


def _probes(**lists: list[tuple[str, str]]) -> dict[str, list[dict[str, str]]]:
    return {name: [{"prompt": p, "ground_truth": t} for p, t in pairs] for name, pairs in lists.items() if pairs}


def _nested_probes(**lists: list[tuple[str, str]]) -> dict[str, list[dict[str, Any]]]:
    return {name: [{"prompt": p, "ground_truth": [[t]]} for p, t in pairs] for name, pairs in lists.items() if pairs}


def cf_rows(cases: Sequence[Case]) -> Iterator[dict[str, Any]]:
    """Counterfactual cases in the published ScEdit-CF shape; temporal ones are left out.

    A separator other than one space cannot be said in that shape: it is kept at the end of the prompt.
    """
    for case_id, case in _in_file_order(cases, "counterfactual", "scedit-cf"):
        fact, same = case.fact, [n for n in case.neighbours if n.link.how == "same_object"]
        yield {
            "case_id": case_id,
            "prompt": fact.fact_prompt,
            "ground_truth": fact.old.text,
            "target_new": fact.new_object.text,
            "subject": fact.subject.text,
            "rephrase_prompts": [cloze(p.text, p.separator) for p in case.prompts],
            "neighborhood_prompts": [cloze(p.text, p.separator) for n in same for p in n.prompts],
            "interrupt_step": [p.step for p in case.prompts],
            "property": fact.relation.label or fact.relation.id,
            "generation_prompts": [q.text for q in case.questions],
            **stated_source(fact.source, SCEDIT_CF),
        }


def t_rows(cases: Sequence[Case]) -> Iterator[dict[str, Any]]:
    """Temporal cases in the published ScEdit-T shape; counterfactual ones are left out."""
    for case_id, case in _in_file_order(cases, "temporal", "scedit-t"):
        fact = case.fact
        yield {
            "case_id": case_id,
            "subject": fact.subject.text,
            "relation": fact.relation.label or fact.relation.id,
            "prompt": fact.fact_prompt,
            "old_update": fact.old.text,
            "new_update": fact.new_object.text,
            "question": [cloze(p.text, p.separator) for p in case.prompts],
            "neighborhood": [
                {"object": n.fact.old.text, "prompt": n.fact.fact_prompt, "question": cloze(p.text, p.separator)}
                for n in case.neighbours
                for p in n.prompts
            ],
            **stated_source(fact.source, SCEDIT_T),
        }


def _in_file_order(cases: Sequence[Case], change: str, format: str) -> Iterator[tuple[int | str, Case]]:
    """Cases with their ``case_id``: those of a ScEdit file first, with its ids and in the order of its numbers.

    An id that two files have goes to the first. Other cases follow as they come, with the lowest free numbers.
    """
    own: dict[int | str, Case] = {}
    others = []
    for case in cases:
        if case.fact.change != change:
            continue
        match = re.fullmatch(rf"(?:.*/)?{format}/([^/]+)", case.fact.key)
        text = match[1] if match else ""
        case_id = int(text) if re.fullmatch("0|[1-9][0-9]{0,17}", text) else text
        if match is None or text.endswith("-of-file") or case_id in own:
            others.append(case)
        else:
            own[case_id] = case
    yield from sorted(own.items(), key=lambda item: (isinstance(item[0], str), item[0]))
    numbers = (n for n in itertools.count() if n not in own)
    yield from zip(numbers, others, strict=False)


def cloze(text: str, separator: str) -> str:
    """A prompt as other people's evaluators take it: they add one space and the target; other separators stay."""
    return text if separator == " " else text + separator


def as_array(rows: Callable[[Split], Iterable[dict[str, Any]]]) -> Callable[[Split, Path], int]:
    """What writes the rows of a split as one JSON array, and returns their number."""
    return lambda split, path: write_array(rows(split), path)


write_counterfact = as_array(lambda split: counterfact_rows(split.cases, split.extras))
write_easyedit = as_array(lambda split: easyedit_rows(split.cases))
write_knowedit = as_array(lambda split: easyedit_rows(split.cases, knowedit_lists=True))
write_cf = as_array(lambda split: cf_rows(split.cases))
write_t = as_array(lambda split: t_rows(split.cases))
