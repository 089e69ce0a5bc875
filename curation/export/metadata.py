"""What a release says of itself: the card for people, Croissant metadata (MLCommons, format 1.0) for machines."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from curation.export.parquet import EXTRAS, Column, parts_of, tables_of
from curation.export.summary import SplitSummary
from curation.files.templates import templates_in
from curation.splits.split_file import Split
from curation.stats.estimates import Estimate
from schemas.cases import FACT
from schemas.text.counting import counted
from schemas.text.escaping import markdown_cell

_LICENCES = {  # as sources name them: the hub's word, and the address
    "CC0-1.0": ("cc0-1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
    "CC0": ("cc0-1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
    "MIT": ("mit", "https://spdx.org/licenses/MIT.html"),
    "Apache-2.0": ("apache-2.0", "https://www.apache.org/licenses/LICENSE-2.0"),
    "CC BY 4.0": ("cc-by-4.0", "https://creativecommons.org/licenses/by/4.0/"),
    "CC BY-SA 4.0": ("cc-by-sa-4.0", "https://creativecommons.org/licenses/by-sa/4.0/"),
    "CC BY-NC-SA 4.0": ("cc-by-nc-sa-4.0", "https://creativecommons.org/licenses/by-nc-sa/4.0/"),
}
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_MOST = 20  # values of a list in the header that the card spells out
_KNOWN = {
    "format", "split", "version", "cases", "digest", "rule", "counts", "written_by", "judged_by", "quality", "release",
    "errata",
}  # fmt: skip
"""Parts of the header that have a place in the card."""


_NOTHING: dict[str, Any] = {"written_by": None, "judged_by": None, "rule": None, "errata": [], "release": None}
_NO_SAMPLE: dict[str, Any] = {"without_sample": None, "samples": []}


class ReleasePart(NamedTuple):
    """A file or folder of the release: its name, what it is, what it cannot carry, cases in it."""

    name: str
    about: str
    losses: tuple[str, ...]
    cases: int


def card(
    split: Split, summary: SplitSummary, parts: Sequence[ReleasePart], *, tables: bool = True, repeat: str = ""
) -> str:
    """The card as Markdown, by the template ``card.md.jinja``.

    Args:
        split: The frozen split.
        summary: What ``survey`` counted.
        parts: The files that go with it.
        tables: Whether ``data/*.parquet`` are among them (then the header says how to load them).
        repeat: How to make the split again, where that is known.
    """
    header, cases = split.header, len(split.all_cases)
    filters = {
        "cell": _cell,
        "words": _plain_text,
        "counted": counted,
        "fields": lambda values, names: [values[name] for name in names],
        "estimate": lambda values: Estimate(**{"value": None} | values).text(),
        "quote": partial(json.dumps, ensure_ascii=False),
    }
    page = templates_in(Path(__file__).parent, filters=filters).get_template("card.md.jinja")
    text = page.render(
        split=split,
        header=_NOTHING | header | {"quality": _NO_SAMPLE | header.get("quality", {})},
        changes=header.get("release", {}).get("changelog", "").partition("\n\n")[2].strip(),
        divided=sorted(set(parts_of(split).values())),
        repeat=repeat,
        lost={k: n for k, n in header.get("counts", {}).items() if k not in ("cases", "facts")},
        more={k: v for k, v in header.items() if k not in _KNOWN and v not in (None, "", [], {})},
        summary=summary,
        parts=parts,
        tables=tables_of(split) if tables else {},
        cases=cases,
        licence=hub_licence(summary.licences),
        size=next((name for limit, name in _SIZES if cases < limit), "n>1M"),
        half=100 * 1.96 * math.sqrt(0.25 / cases),
        file_name=split.name.replace("/", "-") + ".jsonl",
        first=lambda counts: list(counts.items())[:8],
    )
    return re.sub(r"\n{3,}", "\n\n", text.rstrip()) + "\n"


def hub_licence(licences: Sequence[str]) -> str:
    """The hub's word for the licences: a known one, or ``other`` for several and for unknown ones.

    Example:
        >>> hub_licence(["MIT"]), hub_licence(["MIT", "CC BY-SA 4.0"])
        ('mit', 'other')
    """
    return _LICENCES[licences[0]][0] if len(licences) == 1 and licences[0] in _LICENCES else "other"


def _cell(value: object) -> str:
    """A number, or text of others, in a cell."""
    return f"{value:,}" if isinstance(value, int) else markdown_cell(str(value))


def _plain_text(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{k} = {_plain_text(v)}" for k, v in value.items() if v not in (None, "", {}))
    if isinstance(value, list):
        return f"{len(value):,} of them" if len(value) > _MOST else ", ".join(_plain_text(v) for v in value) or "none"
    return str(value)


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
    summary: SplitSummary,
    files: Iterable[DataFile],
    publisher: PublisherDetails | None = None,
) -> dict[str, Any]:
    """The metadata as plain JSON values; record sets stand for the Parquet tables among the files."""
    listed, publisher = list(files), publisher or PublisherDetails()
    columns = {**tables_of(split), "extras": EXTRAS}
    tables = {f"data/{name}.parquet": name for name in columns}
    licences = [_LICENCES.get(licence, ("", licence))[1] for licence in summary.licences]
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


def _counts_in_words(split: Split, summary: SplitSummary) -> str:
    cases, counts = counted(len(split.all_cases), "case"), summary.counts
    if split.type != FACT:
        facts, tendencies = (
            sum(n for name, n in counts.items() if name.startswith(kind)) for kind in ("factual", "tendency")
        )
        return (
            f"{cases} for evaluating event-level knowledge editing, {counted(facts, 'factual question')}, "
            f"{counted(tendencies, 'tendency question')}"
        )
    return (
        f"{cases} for evaluating knowledge editing with scripts, {counted(counts['script prompts'], 'script prompt')}, "
        f"{counted(counts['neighbour script prompts'], 'neighbour script prompt')}"
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
