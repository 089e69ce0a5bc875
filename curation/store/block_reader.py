"""Reading parts of a store: records by keys, ids, parents or ranges of keys, so that rules work in blocks."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from curation.splits.split_file import Extras
from curation.store.connection import Connection
from schemas.core.records import Record
from schemas.extras import Extra
from schemas.verdicts import Verdict

R = TypeVar("R", bound=Record)
PORTION = 20_000
_SELECT = "SELECT kind, body, id FROM records WHERE kind = ? AND current AND "


class KeyRange(NamedTuple):
    """Keys from ``low`` to before ``high`` (None: to the end) that begin with ``prefix``."""

    low: str
    high: str | None
    prefix: str

    def __contains__(self, key: object) -> bool:
        inside = isinstance(key, str) and key.startswith(self.prefix) and key >= self.low
        return inside and (self.high is None or str(key) < self.high)

    def where(self, column: str) -> tuple[str, list[Any]]:
        """The condition on a column, and its values."""
        sql, values = f"{column} >= ? AND starts_with({column}, ?)", [self.low, self.prefix]
        return (sql, values) if self.high is None else (f"{sql} AND {column} < ?", [*values, self.high])


def _portions(keys: Iterator[tuple[str]], size: int) -> list[KeyRange]:
    """Ranges of ``size`` keys, of keys that come in order."""
    lows = [key for n, (key,) in enumerate(keys) if n % size == 0]
    return [KeyRange(low, high, "") for low, high in zip(lows, [*lows[1:], None], strict=False)]


def _by_text(by: str) -> str:
    """What a verdict's stored text holds where a judge gave it, and no other verdict's: quotation marks are escaped."""
    return f'"by":{json.dumps(by, ensure_ascii=False)}'


def _without_keeps(checks: Sequence[str]) -> tuple[str, list[str]]:
    """A condition that leaves out the ``keep`` verdicts of some checks, and its values."""
    by = " OR ".join(["contains(body, ?)"] * len(checks))
    condition = f'AND NOT (contains(body, \'"label":"keep"\') AND ({by}))' if checks else ""
    return condition, [_by_text(check) for check in checks]


class MeasuredUnit(NamedTuple):
    """Values of one check (or person's task) and model that are in one unit, and the first verdict's key."""

    by: str
    model: str | None
    unit: str
    first: str


class BlockReader:
    """The part of ``Store`` that reads parts of it."""

    _db: Connection

    def _stream(self, sql: str, values: list[Any]) -> Iterator[tuple[Any, ...]]:
        raise NotImplementedError

    def _make_record(self, row: tuple[Any, ...]) -> Record:
        raise NotImplementedError

    def _select_records(self, cls: type[R], where: str, values: Sequence[Any]) -> list[R]:
        rows = self._stream(_SELECT + where + " ORDER BY key", [cls.kind, *values])
        return [record for row in rows if isinstance(record := self._make_record(row), cls)]

    def by_keys(self, cls: type[R], keys: Iterable[str | None]) -> list[R]:
        """Current records of a kind with these keys, in order of their keys."""
        wanted = sorted({k for k in keys if k})
        return self._select_records(cls, "key IN (SELECT unnest(?::VARCHAR[]))", [wanted]) if wanted else []

    def by_ids(self, cls: type[R], ids: Collection[str]) -> list[R]:
        """Current records of a kind with these ids, in order of their keys."""
        return self._select_records(cls, "id IN (SELECT unnest(?::VARCHAR[]))", [sorted(ids)]) if ids else []

    def of_parents(self, cls: type[R], parents: Iterable[str]) -> list[R]:
        """Current records of a kind that belong to these, in order of their keys."""
        wanted = sorted(set(parents))
        return self._select_records(cls, "parent IN (SELECT unnest(?::VARCHAR[]))", [wanted]) if wanted else []

    def deciding_verdicts(self, items: Sequence[str], *, plain: Sequence[str]) -> list[Verdict]:
        """Current verdicts on some items, without the ``keep`` of some checks, told apart by their text alone."""
        where, values = _without_keeps(plain)
        return self._select_records(Verdict, f"parent IN (SELECT unnest(?::VARCHAR[])) {where}", [list(items), *values])

    def decided_items(self, *, plain: Sequence[str]) -> set[str]:
        """Ids of the items with such a verdict."""
        where, values = _without_keeps(plain)
        sql = f"SELECT DISTINCT parent FROM records WHERE kind = 'verdict' AND current {where}"
        return {item for (item,) in self._stream(sql, values)}

    def in_range(self, cls: type[R], keys: KeyRange, *, parent: bool = False) -> list[R]:
        """Current records of a kind whose key (or parent) is in a range, in order of their keys."""
        return self._select_records(cls, *keys.where("parent" if parent else "key"))

    def ranges(self, prefix: str, size: int, *, kind: str = "fact") -> list[KeyRange]:
        """Ranges of about ``size`` keys of a kind; of facts, also those that only questions and prompts speak of."""
        sql = f"SELECT key AS k FROM records WHERE kind = '{kind}' AND current AND starts_with(key, $1) "
        if kind == "fact":
            sql += (
                "UNION SELECT parent FROM records WHERE kind IN ('prompt', 'question') AND current "
                "AND starts_with(parent, $1) "
            )
        rows = self._stream(sql + "ORDER BY k", [prefix])
        return [keys._replace(prefix=prefix) for keys in _portions(rows, size)]

    def _in_order(self, kind: str) -> Iterator[tuple[Any, ...]]:
        """(kind, body) of the current records of a kind in order of their keys; bodies are sorted in portions."""
        keys = self._stream("SELECT key FROM records WHERE kind = ? AND current ORDER BY key", [kind])
        for portion in _portions(keys, PORTION):
            where, values = portion.where("key")
            yield from self._stream(_SELECT + where + " ORDER BY key", [kind, *values])

    def asked_elsewhere(self) -> set[str]:
        """Keys of questions that a prompt of another fact names."""
        rows = self._stream(
            "SELECT DISTINCT q.key FROM records p JOIN records q ON q.key = p.body->>'$.question' "
            "WHERE p.kind = 'prompt' AND p.current AND q.kind = 'question' AND q.current AND q.parent <> p.parent",
            [],
        )
        return {key for (key,) in rows}

    def beside(self, keys: Collection[str]) -> set[str]:
        """Which of these facts are linked to as somebody's neighbour."""
        if not keys:
            return set()
        rows = self._stream(
            "SELECT DISTINCT fact FROM neighbours WHERE fact IN (SELECT unnest(?::VARCHAR[]))", [sorted(keys)]
        )
        return {key for (key,) in rows}

    def edits_beside(self, keys: Collection[str]) -> set[str]:
        """The edits of which these facts are neighbours."""
        if not keys:
            return set()
        rows = self._stream(
            "SELECT DISTINCT edit FROM neighbours WHERE fact IN (SELECT unnest(?::VARCHAR[]))", [sorted(keys)]
        )
        return {key for (key,) in rows}

    def extras_of(self, label: str) -> Extras:
        """Current extras of the facts in a split (``name@version``), neighbours' too; read when asked for."""
        return _Kept(self, label)

    def extra_keys(self, label: str) -> Iterator[str]:
        """Keys of the current extras of a split's facts, or of its events and their questions, in order."""
        cases = "split_cases c JOIN records r ON r.id = c.case_id WHERE c.split = $1"
        rows = self._stream(
            "SELECT key FROM records WHERE kind = 'extra' AND current AND parent IN ("
            f"SELECT r.body->>'$.fact.key' FROM {cases} UNION "
            f"SELECT unnest(json_extract_string(r.body, '$.neighbours[*].fact.key')) FROM {cases} UNION "
            f"SELECT r.body->>'$.event.key' FROM {cases} UNION "
            f"SELECT unnest(json_extract_string(r.body, '$.facts[*].key')) FROM {cases} UNION "
            f"SELECT unnest(json_extract_string(r.body, '$.tendencies[*].key')) FROM {cases} UNION "
            f"SELECT r.body->>'$.document.key' FROM {cases} UNION "
            f"SELECT unnest(json_extract_string(r.body, '$.probes[*].key')) FROM {cases}) ORDER BY key",
            [label],
        )
        return (key for (key,) in rows)

    def has(self, kind: str) -> bool:
        """Whether there is any current record of a kind."""
        return bool(list(self._stream("SELECT 1 FROM records WHERE kind = ? AND current LIMIT 1", [kind])))

    def judges(self) -> list[str]:
        """Every ``by`` of the current verdicts."""
        return [by for (by,) in self._stream('SELECT DISTINCT "by" FROM verdicts ORDER BY 1', [])]

    def units(self) -> list[MeasuredUnit]:
        """In which units the checks' values are, in order of the first verdict's key."""
        rows = self._stream(
            'SELECT "by", model, unit, min(key) FROM verdicts WHERE value IS NOT NULL GROUP BY ALL ORDER BY 4', []
        )
        return [MeasuredUnit(*row) for row in rows]

    def links(self, by: Sequence[str], items: Collection[str] | None = None) -> Iterator[Verdict]:
        """Verdicts with a value by some judges, in order of their keys; with ``items``, on these or related to them."""
        sql = (
            "SELECT kind, body, id FROM records WHERE kind = 'verdict' AND current "
            "AND body->>'$.by' IN (SELECT unnest(?::VARCHAR[])) AND body->>'$.value' IS NOT NULL"
        )
        values: list[Any] = [list(by)]
        if items is not None:
            sql += " AND (parent IN (SELECT unnest($2::VARCHAR[])) OR list_has_any("
            sql = sql.replace("unnest(?", "unnest($1") + "CAST(body->'$.related' AS VARCHAR[]), $2::VARCHAR[]))"
            values.append(sorted(items))
        for row in self._stream(sql + " ORDER BY key", values):
            verdict = self._make_record(row)
            assert isinstance(verdict, Verdict)
            yield verdict

    def keeps(self) -> Iterator[tuple[str, int]]:
        """(item id, keep verdicts less drop verdicts), near-duplicate verdicts left out."""
        rows = self._stream(
            "SELECT item_id, sum(CASE label WHEN 'keep' THEN 1 WHEN 'drop' THEN -1 ELSE 0 END) FROM verdicts "
            "WHERE NOT contains(regexp_extract(\"by\", '([^/@]*)@[0-9]+$', 1), 'duplicate') GROUP BY ALL",
            [],
        )
        yield from ((item, int(n)) for item, n in rows)


class _Kept(Extras):
    """Extras that are read from a store."""

    def __init__(self, store: BlockReader, label: str) -> None:
        self._store, self._label = store, label

    def __iter__(self) -> Iterator[Extra]:
        keys = self._store.extra_keys(self._label) if self._store.has("extra") else iter(())
        while portion := list(islice(keys, 2000)):
            yield from self._store.by_keys(Extra, portion)

    def of(self, facts: Collection[str]) -> list[Extra]:
        return self._store.of_parents(Extra, facts)
