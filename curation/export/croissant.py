"""Croissant metadata (MLCommons, format 1.0): what a release holds, for machines, as JSON-LD."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from curation.export.columns import Column
from curation.export.parquet import EXTRAS, tables_of_type
from curation.export.summary import EventSummary, SplitSummary
from curation.splits.split_file import Split
from schemas.text.counting import counted

_URLS = {  # addresses of the licences that sources name
    "CC0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "CC0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "MIT": "https://spdx.org/licenses/MIT.html",
    "Apache-2.0": "https://www.apache.org/licenses/LICENSE-2.0",
    "CC BY 4.0": "https://creativecommons.org/licenses/by/4.0/",
    "CC BY-SA 4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
    "CC BY-NC-SA 4.0": "https://creativecommons.org/licenses/by-nc-sa/4.0/",
}
_TYPES = {"VARCHAR": "sc:Text", "INTEGER": "sc:Integer", "DOUBLE": "sc:Float", "BOOLEAN": "sc:Boolean"}
_MIME = {
    ".parquet": "application/x-parquet",
    ".json": "application/json",
    ".jsonl": "application/jsonlines",
}
_CONTEXT: dict[str, Any] = {  # the context that the format prescribes
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataBiases": "cr:dataBiases",
    "dataCollection": "cr:dataCollection",
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "personalSensitiveInformation": "cr:personalSensitiveInformation",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


class DataFile(NamedTuple):
    """A file of the release: path below its folder, bytes, SHA-256."""

    path: str
    size: int
    sha256: str


class PublisherDetails(NamedTuple):
    """What only the publisher knows; left out of the metadata where it is None."""

    creator: str | None = None
    url: str | None = None
    date: str | None = None
    cite: str | None = None


def croissant(
    split: Split,
    summary: SplitSummary | EventSummary,
    files: Iterable[DataFile],
    publisher: PublisherDetails | None = None,
) -> dict[str, Any]:
    """The metadata as plain JSON values; record sets stand for the Parquet tables among the files."""
    listed, publisher = list(files), publisher or PublisherDetails()
    columns = {**tables_of_type(split.type), "extras": EXTRAS}
    tables = {f"data/{name}.parquet": name for name in columns}
    licences = [_URLS.get(licence, licence) for licence in summary.licences]
    metadata: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": split.name,
        "description": (
            f"{_counts_in_words(split, summary)}. Digest of the cases: {split.digest}."
            + "".join(
                f" {words} by {split.header[name]}."
                for name, words in (("written_by", "Written"), ("judged_by", "Judged"))
                if split.header.get(name)
            )
        ),
        "license": licences[0] if len(licences) == 1 else licences,
        "version": split.version,
        "url": publisher.url,
        "datePublished": publisher.date,
        "citeAs": publisher.cite,
        "creator": {"@type": "sc:Organization", "name": publisher.creator} if publisher.creator else None,
        "distribution": [_file(f) for f in listed],
        "recordSet": [_records(tables[f.path], columns[tables[f.path]], f) for f in listed if f.path in tables],
    }
    return {name: value for name, value in metadata.items() if value is not None}


def _counts_in_words(split: Split, summary: SplitSummary | EventSummary) -> str:
    cases = counted(len(split.all_cases), "case")
    if isinstance(summary, EventSummary):
        facts, tendencies = sum(summary.facts.values()), sum(summary.tendencies.values())
        return (
            f"{cases} for evaluating event-level knowledge editing, {counted(facts, 'factual question')}, "
            f"{counted(tendencies, 'tendency question')}"
        )
    return (
        f"{cases} for evaluating knowledge editing with scripts, {counted(summary.prompts, 'script prompt')}, "
        f"{counted(summary.neighbour_prompts, 'neighbour script prompt')}"
    )


def _file(file: DataFile) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file.path,
        "name": file.path,
        "contentUrl": file.path,
        "contentSize": f"{file.size} B",
        "encodingFormat": _MIME.get("." + file.path.rpartition(".")[2], "text/plain"),
        "sha256": file.sha256,
    }


def _records(name: str, columns: Iterable[Column], file: DataFile) -> dict[str, Any]:
    fields = [_field(name, column, file.path) for column in columns]
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "description": _WHAT[name], "field": fields}


_WHAT: Mapping[str, str] = {
    "cases": "One edit a row, with its fact.",
    "questions": "Script questions of edits and neighbours.",
    "prompts": "Script prompts of edits and neighbours.",
    "neighbours": "Facts that an edit must leave alone.",
    "events": "One edit a row: what happened.",
    "fact_questions": "Questions with a short answer.",
    "tendency_questions": "Questions with three options about what is likely.",
    "extras": "What the sources say beside the facts.",
}


def _field(table: str, column: Column, file: str) -> dict[str, Any]:
    plain = column.type.removesuffix("[]")
    field: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{table}/{column.name}",
        "name": column.name,
        "description": column.about,
        "dataType": _TYPES[plain],
    }
    if plain != column.type:
        field["repeated"] = True
    return field | {"source": {"fileObject": {"@id": file}, "extract": {"column": column.name}}}
