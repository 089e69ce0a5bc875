"""Which records a file brought so far, and what its facts say: repeated keys, contradictions, neighbours told twice."""

from __future__ import annotations

from schemas.core.records import Record
from schemas.facts import Fact


class SeenRecords:
    """What was seen: keys with their content, and what the facts say of each subject and relation."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], str] = {}
        self._truth: dict[tuple[str, str], tuple[str, str, str]] = {}

    def enter(self, record: Record, *, main: bool) -> tuple[tuple[str, str] | None, bool]:
        """(kind and text of a problem, or None; whether the record is to be kept)."""
        name = (record.kind, record.key)
        if (before := self._seen.get(name)) is not None:
            same = "" if before == record.id else ", with other content"
            if main:
                return ("duplicate", f"the key '{record.key}' stands twice{same}"), False
            what = f"'{record.key}' was described otherwise before; the first description stays"
            return (("contradictory", what) if same else None), False
        self._seen[name] = record.id
        if main and isinstance(record, Fact):
            return self._true_statement(record), True
        return None, True

    def neighbour(self, fact: Fact) -> tuple[Fact, tuple[str, str] | None]:
        """A neighbour as it is to be kept: described otherwise than before under its key, it has a key of its own."""
        if self._seen.get((fact.kind, fact.key)) in (None, fact.id):
            return fact, None
        renamed = fact.model_copy(update={"key": f"{fact.key}~{fact.id[:6]}"})
        what = f"'{fact.key}' was described otherwise before; this description is kept as '{renamed.key}'"
        known = (renamed.kind, renamed.key) in self._seen
        return renamed, None if known else ("contradictory", what)

    def _true_statement(self, fact: Fact) -> tuple[str, str] | None:
        old, new = fact.old.text, fact.new.text if fact.new else ""
        pair = (fact.subject.text.casefold(), fact.relation.id)
        if pair not in self._truth:
            self._truth[pair] = (fact.key, old, new)
            return None
        if fact.change == "temporal":
            return None
        key, old_text, edit = self._truth[pair]
        if old_text.casefold() != old.casefold():
            return "contradictory", f"'{key}' says '{old_text}' for this subject and relation, this one '{old}'"
        if edit and new and edit.casefold() != new.casefold():
            return "contradictory", f"'{key}' edits this subject and relation to '{edit}', this one to '{new}'"
        return None
