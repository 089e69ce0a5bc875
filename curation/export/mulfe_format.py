"""The released shapes of MULFE: evaluation, development, simplification and specificity."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from curation.export.fact_formats import as_array, source_fields
from curation.export.formats import Exporter
from curation.files.json_files import write_array
from curation.splits.split_file import NONE, Extras
from schemas.cases import DocumentCase
from schemas.documents.document import DocumentProbe
from schemas.documents.simplified import SimplifiedFact
from schemas.documents.specificity import SpecificitySet


def evaluation_rows(cases: Iterable[Any], extras: Extras = NONE) -> Iterator[dict[str, Any]]:
    """Records of the evaluation shape, one at a time, in the order of the cases.

    Args:
        cases: The cases.
        extras: Spellings of tags, and fields that our records do not carry, are put back from these.
    """
    for case in cases:
        document, more = case.document, source_fields(case, extras)
        row: dict[str, Any] = {"doc": document.text, "meta": {"entity": document.entity} if document.entity else {}}
        row |= {"id": _name(case), "probes": [_probe(case, probe, more, "tags") for probe in _in_order(case.probes)]}
        yield row | {k: v for k, v in more[document.key].items() if k not in row}


def development_rows(cases: Iterable[Any], extras: Extras = NONE) -> Iterator[dict[str, Any]]:
    """Records of the development shape, which has other keys; otherwise as ``evaluation_rows``."""
    for case in cases:
        document, more = case.document, source_fields(case, extras)
        row: dict[str, Any] = {"page_title": document.title} if document.title else {}
        row |= {"created": document.source.date} if document.source.date else {}
        row |= {"doc": document.text, "id": _name(case)}
        row["generated_probes"] = [_probe(case, probe, more, "tag") for probe in _in_order(case.probes)]
        yield row | {k: v for k, v in more[document.key].items() if k not in row}


def simplification_rows(
    cases: Iterable[DocumentCase], facts: Iterable[SimplifiedFact], extras: Extras = NONE
) -> Iterator[dict[str, Any]]:
    """Records of the simplification shape: the evaluation shape with the statements of one strategy.

    Args:
        cases: The cases; one without a statement has an empty list.
        facts: Statements of one strategy.
        extras: As for ``evaluation_rows``; also what the source gave as the filled prompt where it differs.
    """
    statements_of: defaultdict[str, list[SimplifiedFact]] = defaultdict(list)
    for fact in facts:
        statements_of[fact.document].append(fact)
    inputs = {extra.subject_key: extra.value.get("input") for extra in extras if "input" in extra.value}
    kept = list(cases)
    for case, row in zip(kept, evaluation_rows(kept, extras), strict=True):
        statements = sorted(statements_of[case.document.key], key=lambda fact: _natural(fact.key))
        yield row | {
            "simplification": [
                {
                    "input": inputs.get(fact.key, fact.filled_prompt),
                    "target": f" {fact.target}",
                    "prompt": fact.prompt,
                    "subject": fact.subject,
                }
                for fact in statements
            ]
        }


def specificity_rows(questions_set: SpecificitySet) -> Iterator[dict[str, Any]]:
    """Records of the specificity shape: a question each; a file of it says its model by its name only."""
    for question in questions_set.questions:
        row: dict[str, Any] = {"query": question.query, "answer": question.answer, "id": question.item}
        yield row | {"metrics": {"nll": question.nll, "ppl": question.ppl}}


def _name(case: DocumentCase) -> str:
    return case.document.source.item or case.document.key


def _probe(case: DocumentCase, probe: DocumentProbe, more: Mapping[str, dict[str, Any]], tags: str) -> dict[str, Any]:
    left = dict(more.get(probe.key, {}))
    spelled = left.pop("tags", None) or left.pop("tag", None) or list(probe.tags)
    row: dict[str, Any] = {"query": probe.query, "answer": probe.answer}
    row |= {} if probe.level is None else {"level": str(probe.level)}
    name = f"{_name(case)}_{probe.key.removeprefix(f'{case.document.key}/')}"
    return row | left | {tags: spelled, "id": name}


def _in_order(probes: Sequence[DocumentProbe]) -> list[DocumentProbe]:
    return sorted(probes, key=lambda probe: _natural(probe.key))


def _natural(key: str) -> list[tuple[int, str]]:
    """A key by which "x/10" comes after "x/9"."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", key)]


def write_specificity(questions_set: SpecificitySet, path: Path) -> int:
    """The specificity shape; returns the number of questions written."""
    return write_array(specificity_rows(questions_set), path)


_LOSSES = (
    "keys, sources and licences",
    "accepted answers beside the first",
    "further names of what a document is about",
)
EVALUATION = Exporter(
    as_array(lambda split: evaluation_rows(split.all_cases, split.extras)),
    "{name}.mulfe.json",
    "documents and probes in the published MULFE shape (evaluation part)",
    (*_LOSSES, "title and date of the page"),
    edits=("document",),
)
DEVELOPMENT = Exporter(
    as_array(lambda split: development_rows(split.all_cases, split.extras)),
    "{name}.mulfe-dev.json",
    "documents and probes in the published MULFE shape (development part)",
    (*_LOSSES, "the document's entity"),
    edits=("document",),
)
