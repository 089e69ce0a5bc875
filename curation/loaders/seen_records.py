"""Which records a file brought so far, and what its facts say: repeated keys, contradictions, neighbours told twice."""

from __future__ import annotations

from curation.files.disk_map import DiskMap
from schemas.core.records import Record
from schemas.facts import Fact


class SeenRecords:
    """What was seen: keys with their content, and what the facts say of each subject and relation.

    Names are kept as 64-bit hashes, in a temporary file where there are many.
    """

    def __init__(self) -> None:
        self._seen, self._truth = DiskMap(), DiskMap()

    def enter(self, record: Record, *, main: bool) -> tuple[tuple[str, str] | None, bool]:
        """(kind and text of a problem, or None; whether the record is to be kept)."""
        content, name = int(record.id[:15], 16), hash((record.kind, record.key))
        if (before := self._seen.first(name, content)) is not None:
            same = "" if before == content else ", with other content"
            if main:
                return ("duplicate", f"the key '{record.key}' stands twice{same}"), False
            what = f"'{record.key}' was described otherwise before; the first description stays"
            return (("contradictory", what) if same else None), False
        if main and isinstance(record, Fact):
            return self._true_statement(record), True
        return None, True

    def neighbour(self, fact: Fact) -> tuple[Fact, tuple[str, str] | None]:
        """A neighbour as it is to be kept: described otherwise than before under its key, it has a key of its own."""
        content, name = int(fact.id[:15], 16), hash((fact.kind, fact.key))
        if self._seen.get(name) in (None, content):
            return fact, None
        renamed = fact.model_copy(update={"key": f"{fact.key}~{fact.id[:6]}"})
        what = f"'{fact.key}' was described otherwise before; this description is kept as '{renamed.key}'"
        known = self._seen.get(hash((renamed.kind, renamed.key))) is not None
        return renamed, None if known else ("contradictory", what)

    def _true_statement(self, fact: Fact) -> tuple[str, str] | None:
        old, new = fact.old.text, fact.new.text if fact.new else ""
        pair = hash((fact.subject.text.casefold(), fact.relation.id))
        before = self._truth.first(pair, "\n".join((fact.key, old, new)))
        if before is None or fact.change == "temporal":
            return None
        key, old_text, edit = before.split("\n", 2)
        if old_text.casefold() != old.casefold():
            return "contradictory", f"'{key}' says '{old_text}' for this subject and relation, this one '{old}'"
        if edit and new and edit.casefold() != new.casefold():
            return "contradictory", f"'{key}' edits this subject and relation to '{edit}', this one to '{new}'"
        return None
