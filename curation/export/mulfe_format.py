"""The released shapes of MULFE: evaluation and development."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from curation.export.fact_formats import as_array, stated_source, with_source_fields
from curation.export.formats import Exporter
from curation.loaders.sources import MULFE
from curation.splits.split_file import NONE, Extras
from schemas.cases import DocumentCase
from schemas.documents.document import DocumentProbe


def evaluation_rows(cases: Iterable[Any], extras: Extras = NONE) -> Iterator[dict[str, Any]]:
    """Records of the evaluation shape, one at a time, in the order of the cases.

    Args:
        cases: The cases.
        extras: Spellings of tags, and fields that our records do not carry, are put back from these.
    """
    for case, more in with_source_fields(cases, extras):
        document = case.document
        row = {"doc": document.text, "meta": {"entity": document.entity} if document.entity else {}, "id": _name(case)}
        yield _whole(case, row, "probes", "tags", more)


def development_rows(cases: Iterable[Any], extras: Extras = NONE) -> Iterator[dict[str, Any]]:
    """Records of the development shape, which has other keys; otherwise as ``evaluation_rows``."""
    for case, more in with_source_fields(cases, extras):
        document = case.document
        row: dict[str, Any] = {"page_title": document.title} if document.title else {}
        row |= {"created": document.source.date} if document.source.date else {}
        yield _whole(case, row | {"doc": document.text, "id": _name(case)}, "generated_probes", "tag", more)


def _whole(
    case: DocumentCase, row: dict[str, Any], probes: str, tags: str, more: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    """A row with the case's probes, its source, and the fields that our records do not carry."""
    row |= {probes: [_probe(case, probe, more, tags) for probe in _in_order(case.probes)]}
    row |= stated_source(case.document.source, MULFE)
    return row | {k: v for k, v in more[case.document.key].items() if k not in row}


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
    """Probes by their keys: "x/10" comes after "x/9"."""
    parts = {probe.key: re.split(r"(\d+)", probe.key) for probe in probes}
    return sorted(probes, key=lambda p: [(int(x), "") if x.isdigit() else (-1, x) for x in parts[p.key]])


_LOSSES = (
    "keys",
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
