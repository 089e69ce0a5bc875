"""UniEdit (Chen et al., 2025): a file a discipline, an object of records with generality and locality by chains.

A probe is a chain of steps through Wikidata. Which consequence it asks for is told by its ``paths`` as in the published
evaluation: (h_e, r_e, t_e) is the edit, walked forward (f) or backward (b).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from curation.loaders.base import Loader, Problem, Row, RowItem
from curation.loaders.fields import kind_of, rest, text_of, unique_key_part
from curation.loaders.formats.probes.base import GivenEdit, ProbeBenchmark, flat_strings, query_of
from curation.loaders.reading import rows
from curation.loaders.sources import UNIEDIT, Upstream
from schemas.core.ids import slug
from schemas.documents.document import Document
from schemas.documents.statement import Group, Premise
from schemas.documents.tags import Tag

EDIT = ["h_e", "r_e", "t_e"]
"""The step that is the edit."""
YES_OR_NO = " The answer is (Yes/No):"
"""What the published evaluation puts after a prompt that compares two chains."""


def records(path: Path) -> Iterator[Row | Problem]:
    """Rows, where an object of whole records counts as one row for each."""
    for row in rows(path):
        if isinstance(row, Problem) or "edit" in row.data:
            yield row
            continue
        for number, (name, data) in enumerate(row.data.items(), 1):
            where = f"{row.where}, {name}"
            if isinstance(data, dict):
                yield Row(where, {"id": name, **data}, number)
            else:
                yield Problem(where, "malformed", f"a record is expected, not {kind_of(data)}")


class UniEditRecord(ProbeBenchmark):
    """One edit a row, and its chains as probes; the steps of a chain beside the edit are its premises."""

    upstream: ClassVar[Upstream] = UNIEDIT

    def make(self, row: Row) -> Iterator[RowItem]:
        """The edit, its probes, and an extra with what they do not carry."""
        data, given = row.data, row.data["edit"]
        edit = GivenEdit(text_of(given, "subject"), text_of(given, "prompt"), text_of(given, "target"))
        name = f"{slug(self.named.stem)}/{data.get('id', row.number)}"
        document = self.document(f"uniedit/{name}/{unique_key_part(*edit)}", [edit], row, item=name)
        yield document
        own = query_of(edit.prompt)
        yield from self.probe(document, "efficacy", own, [edit.target], row, group="efficacy")
        for side in ("generality", "locality"):
            for number, asked in (data.get(side) or {}).items():
                yield from self._chain(document, f"{side}/{number}", asked, given, row)
        yield from rest(document.key, data, ("id", "edit", "generality", "locality"))

    def _chain(
        self, document: Document, name: str, asked: dict[str, Any], edit: dict[str, Any], row: Row
    ) -> Iterator[RowItem]:
        steps, paths = _steps(asked), _paths(asked)
        prompt = text_of(asked, "prompt") + (YES_OR_NO if _compares(asked) else "")
        premises = [_premise(step) for step in steps if step.get("path") != EDIT]
        of_edit = name.startswith("generality")
        group = _generality(asked, steps, paths) if of_edit else _locality(steps, edit)
        tags: list[Tag] = ["multi_hop"] if _is_chain(asked) else []
        tags += ["reverse"] if any(_is_backward(path) for path in paths) else []
        tags += ["comparison"] if _compares(asked) else []
        yield from self.probe(
            document,
            name,
            prompt if _compares(asked) else query_of(prompt),
            flat_strings(asked.get("target")),
            row,
            group=group,
            premises=premises if of_edit else (),
            tags=tuple(tags),
        )


def _premise(step: dict[str, Any]) -> Premise:
    """A step in the direction in which the chain walks it: backward where the source says so and how it is asked."""
    backward = step.get("reversed") if step.get("reverse_in_multi_hop") else None
    asked = backward if isinstance(backward, dict) else step
    return Premise(query=query_of(text_of(asked, "prompt")), answers=(text_of(asked, "target"),))


def _compares(asked: dict[str, Any]) -> bool:
    """Whether a probe asks if two chains end at the same thing."""
    return bool(asked["path_type"] == "double")


def _sides(asked: dict[str, Any]) -> list[dict[str, Any]]:
    return [asked["single_path1"], asked["single_path2"]] if _compares(asked) else [asked]


def _steps(asked: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for side in _sides(asked) for step in side["one_hops"]]


def _paths(asked: dict[str, Any]) -> list[list[str]]:
    return [path for side in _sides(asked) for path in side["paths"]]


def _is_chain(asked: dict[str, Any]) -> bool:
    """Whether one of its sides takes two steps or more."""
    return any(len(side["paths"]) >= 2 for side in _sides(asked))


def _is_backward(path: list[str]) -> bool:
    return path[:4] == ["t_e", "r_e", "h_e", "b"]


def _generality(asked: dict[str, Any], steps: list[dict[str, Any]], paths: list[list[str]]) -> Group:
    """Several steps are a hop; a comparison or the other direction is logical; another name an alias."""
    if _is_chain(asked):
        return "hop"
    if _compares(asked) or any(_is_backward(path) for path in paths):
        return "logical"
    return "alias" if any(_has_alias(step) for step in steps if step.get("path") == EDIT) else "rephrase"


def _has_alias(step: dict[str, Any]) -> bool:
    """Whether the step of the edit calls its subject or its object by another name than the usual one."""
    head, tail = step.get("head_entity") or {}, step.get("tail_entity") or {}
    value = tail.get("value") if tail.get("datatype") == "wikibase-item" else None
    other_subject = bool(head.get("aliases")) and step.get("subject") != head.get("label")
    names = value if isinstance(value, dict) else {}
    return other_subject or (bool(names.get("aliases")) and step.get("target") != names.get("label"))


def _locality(steps: list[dict[str, Any]], edit: dict[str, Any]) -> Group:
    """Another object of the edited subject and relation must not be forgotten; all else is locality."""
    subject, relation = (edit.get("head_entity") or {}).get("id"), (edit.get("property") or {}).get("id")
    own = any(
        (step.get("head_entity") or {}).get("id") == subject and (step.get("property") or {}).get("id") == relation
        for step in steps
    )
    return "forgetfulness" if own and subject is not None and relation is not None else "locality"


load_uniedit = Loader("uniedit", UniEditRecord, read=records)
