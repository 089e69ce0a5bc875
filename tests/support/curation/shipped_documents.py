"""Make the shipped split ``documents`` of its source: ``python -m tests.support.curation.shipped_documents``."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from curation.shipped import SHIPPED
from curation.splits.split_file import Split, make_split, write_split
from schemas.cases import DocumentCase
from schemas.core.config import read_toml
from schemas.core.ids import slug
from schemas.documents.document import Document, DocumentProbe

SOURCE = {"name": "ScEdit Toolkit documents", "licence": "CC0-1.0"}


def rows() -> list[dict[str, Any]]:
    """The entries of the source."""
    documents: list[dict[str, Any]] = read_toml((SHIPPED / "documents/documents.jsonl").with_name("source.toml"))[
        "document"
    ]
    return documents


def case_of(row: dict[str, Any]) -> DocumentCase:
    """The document of an entry, with its probes."""
    key = f"documents/{slug(row['entity'])}"
    document = Document.model_validate(
        {"key": key, "text": row["text"], "entity": row["entity"], "source": {**SOURCE, "item": kind_of(row)}}
    )
    probes = []
    for number, (level, query, answers, *tags) in enumerate(row["probes"], 1):
        answer, *accepted = (part.strip() for part in answers.split("|"))
        probes.append(
            DocumentProbe.model_validate(
                {
                    "key": f"{key}/{number}",
                    "document": key,
                    "query": query,
                    "answer": answer,
                    "accepted": tuple(accepted),
                    "level": level,
                    "tags": tuple(tags[0].split()) if tags else (),
                }
            )
        )
    return DocumentCase(key=f"case/{key}", document=document, probes=tuple(probes))


def kind_of(row: dict[str, Any]) -> str:
    """Whether a document is about an invented thing, or changes a known one."""
    return "invented" if row.get("invented") else "changed"


def build() -> Split:
    """The split."""
    return make_split("documents", [case_of(row) for row in rows()])


def main(path: Path | None = None) -> None:
    """Write it, and the list with its SHA-256."""
    path = path or SHIPPED / "documents/documents.jsonl"
    write_split(build(), path)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    path.with_name("checksums.sha256").write_text(f"{sha256}  {path.name}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
