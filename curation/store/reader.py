"""Reading a store: one record, records by keys, ids, parents or ranges of keys, verdicts, lineage, splits, results."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import duckdb

from curation.splits.contradictions import disagreement
from curation.splits.split_file import CaseStream, Extras, RunningDigest, Split
from curation.splits.versions import version_order
from curation.store.connection import Connection, limits
from curation.store.import_sources import ImportSource, first_file, has_sources, list_sources
from curation.store.origins import StaleItem, stale_items
from schemas.cases import AnyCase, Case, DocumentCase, EventCase, read_case
from schemas.core.errors import DataError, UserError
from schemas.core.ids import canonical_json
from schemas.core.records import Record
from schemas.core.registry import suggest
from schemas.documents.document import Document, DocumentProbe
from schemas.documents.simplified import SimplifiedFact
from schemas.documents.specificity import SpecificitySet
from schemas.events.event import Event
from schemas.events.open_answer import OpenAnswer
from schemas.events.questions import FactQuestion, TendencyQuestion
from schemas.extras import Extra
from schemas.facts import Fact, Neighbour
from schemas.generated_scripts import GeneratedScript
from schemas.lineage import Lineage
from schemas.ratings import Rating
from schemas.runs import CaseResult, RunManifest
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.verdicts import Verdict

R = TypeVar("R", bound=Record)

KINDS: dict[str, type[Record]] = {
    c.kind: c
    for c in (
        Fact,
        Neighbour,
        ScriptQuestion,
        Script,
        ScriptPrompt,
        Case,
        Verdict,
        Rating,
        RunManifest,
        Extra,
        GeneratedScript,
        Event,
        FactQuestion,
        TendencyQuestion,
        EventCase,
        OpenAnswer,
        Document,
        DocumentProbe,
        DocumentCase,
        SimplifiedFact,
        SpecificitySet,
    )
}
TABLES = ("records", "lineage", "splits", "split_cases", "results", "origins", "sources", "source_items")
"""What a dump holds."""
JSON_TEXTS = ("body", "header")
"""Columns that hold JSON text."""
_LIST = "(SELECT unnest(?::VARCHAR[]))"
_CASES = "split_cases c JOIN records r ON r.id = c.case_id WHERE c.split = $1"
_IN_CASES = " UNION ".join(
    [f"SELECT r.body->>'$.{name}.key' FROM {_CASES}" for name in ("fact", "event", "document")]
    + [
        f"SELECT unnest(json_extract_string(r.body, '$.{name}.key')) FROM {_CASES}"
        for name in ("neighbours[*].fact", "facts[*]", "tendencies[*]", "probes[*]")
    ]
)
"""Keys of a split's facts, events and documents and of what asks about them."""


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


_CONTRADICTIONS = """WITH f AS (SELECT key, lower(body->>'$.subject.text') AS subject,
  body->>'$.relation.id' AS relation, body->>'$.old.text' AS old, body->>'$.new.text' AS new FROM records
  WHERE kind = 'fact' AND current AND body->>'$.change' <> 'temporal')
SELECT a.key, b.key, b.old, b.new, a.old, a.new FROM f a JOIN f b ON a.subject = b.subject AND a.relation = b.relation
WHERE a.key <> b.key AND (lower(a.old) <> lower(b.old) OR lower(a.new) <> lower(b.new))"""
"""What current facts of the same subject and relation say against each other; temporal ones only follow each other."""


class StoreReader:
    """The reading half of ``Store``."""

    _db: Connection
    path: Path

    def _records(self, cls: type[R], where: str, values: Sequence[Any] = (), *, order: str = "key") -> Iterator[R]:
        """Current records of a kind for which a condition holds, one at a time."""
        sql = f"SELECT body, id FROM records WHERE kind = '{cls.kind}' AND current AND {where} ORDER BY {order}"
        for body, item in self._db.stream(sql, list(values)):
            record = cls.model_validate_json(body)
            record.__dict__["id"] = item  # the same hash, made when the record came
            yield record

    def _first(self, sql: str, *values: Any) -> set[str]:
        """The first column of a query."""
        return {row[0] for row in self._db.execute(sql, list(values))}

    # ---- records ----------------------------------------------------------------------------------------------

    def get(self, item: str) -> Record:
        """A record by key (its current version), by id, or by the unique beginning (6 or more characters) of an id.

        Raises:
            UserError: nothing or more than one thing answers to it.
        """
        conditions = ["key = ? AND current", "id = ?"]
        conditions += ["starts_with(id, ?) LIMIT 9"] if re.fullmatch(r"[0-9a-f]{6,}", item) else []
        for condition in conditions:
            rows = self._db.execute(f"SELECT kind, body FROM records WHERE {condition}", [item])
            if len(rows) > 1:
                what = f"'{item}' stands for {len(rows)} items"
                raise UserError(what, where=str(self.path), fix="give more of the id")
            if rows:
                return KINDS[rows[0][0]].model_validate_json(rows[0][1])
        raise self._no_item(item)

    def _no_item(self, item: str) -> UserError:
        where = str(self.path)
        earlier = self._db.execute("SELECT id FROM records WHERE key = ? ORDER BY seq DESC LIMIT 1", [item])
        if earlier:
            what = f"the item '{item}' is no longer current: its source brings it no more, or its fact was replaced"
            fix = f"its last version: scedit store show {earlier[0][0][:12]} -s {where}"
            return UserError(what, where=where, fix=fix)
        rows = self._db.execute(
            "SELECT key FROM records WHERE current AND kind <> 'verdict' "
            "ORDER BY jaro_winkler_similarity(key, ?) DESC LIMIT 1",
            [item],
        )
        near = suggest(item, [key for (key,) in rows])
        fix = f"did you mean '{near}'?" if near else f"see: scedit store list fact --store {where}"
        return UserError(f"no item '{item}' in the store", where=where, fix=fix)

    def all(self, cls: type[R], *, parent: str | None = None) -> Iterator[R]:
        """Current records of a kind in order of their keys; with ``parent``, only that parent's."""
        return self._records(cls, "true") if parent is None else iter(self.of_parents(cls, [parent]))

    def by_keys(self, cls: type[R], keys: Iterable[str | None]) -> list[R]:
        """Current records of a kind with these keys, in order of their keys."""
        wanted = sorted({k for k in keys if k})
        return list(self._records(cls, f"key IN {_LIST}", [wanted])) if wanted else []

    def by_ids(self, cls: type[R], ids: Collection[str]) -> list[R]:
        """Current records of a kind with these ids, in order of their keys."""
        return list(self._records(cls, f"id IN {_LIST}", [sorted(ids)])) if ids else []

    def of_parents(self, cls: type[R], parents: Iterable[str]) -> list[R]:
        """Current records of a kind that belong to these, in order of their keys."""
        wanted = sorted(set(parents))
        return list(self._records(cls, f"parent IN {_LIST}", [wanted])) if wanted else []

    def in_range(self, cls: type[R], keys: KeyRange, *, parent: bool = False) -> list[R]:
        """Current records of a kind whose key (or parent) is in a range, in order of their keys."""
        return list(self._records(cls, *keys.where("parent" if parent else "key")))

    def ranges(self, prefix: str, size: int, *, kind: str = "fact") -> list[KeyRange]:
        """Ranges of about ``size`` keys of a kind; of facts, also those that only questions and prompts speak of."""
        sql = f"SELECT key AS k FROM records WHERE kind = '{kind}' AND current AND starts_with(key, $1) "
        if kind == "fact":
            sql += (
                "UNION SELECT parent FROM records WHERE kind IN ('prompt', 'question') AND current "
                "AND starts_with(parent, $1) "
            )
        lows = [key for n, (key,) in enumerate(self._db.stream(sql + "ORDER BY k", [prefix])) if n % size == 0]
        return [KeyRange(low, high, prefix) for low, high in zip(lows, [*lows[1:], None], strict=False)]

    def has(self, kind: str) -> bool:
        """Whether there is any current record of a kind."""
        return bool(self._db.execute("SELECT 1 FROM records WHERE kind = ? AND current LIMIT 1", [kind]))

    def keys(self, kind: str, *, like: str = "", limit: int | None = None) -> list[tuple[str, str]]:
        """(key, id) of the current records of a kind whose key contains ``like``."""
        if kind not in KINDS:
            raise UserError(f"unknown kind '{kind}'", allowed=", ".join(KINDS))
        sql = "SELECT key, id FROM records WHERE kind = ? AND current AND contains(lower(key), lower(?)) ORDER BY key"
        rows = self._db.execute(sql + (f" LIMIT {int(limit)}" if limit is not None else ""), [kind, like])
        return [(k, i) for k, i in rows]

    def known(self, item_ids: Iterable[str]) -> set[str]:
        """Those of the content ids that the store holds."""
        return self._first(f"SELECT id FROM records WHERE id IN {_LIST}", list(item_ids))

    def former(self, item_ids: Iterable[str]) -> set[str]:
        """Those of the content ids whose record has another version by now, or none."""
        return self._first(f"SELECT id FROM records WHERE NOT current AND id IN {_LIST}", list(item_ids))

    def stale(self, *, root: str | None = None, prefix: str = "") -> list[StaleItem]:
        """Current records that were made from content that has changed; see ``curation.store.origins``."""
        return stale_items(self._db, root=root, prefix=prefix)

    def contradictions(self, fact: str) -> list[str]:
        """What other current facts say against one, by its key."""
        rows = self._db.execute(f"{_CONTRADICTIONS} AND a.key = ? ORDER BY b.key LIMIT 9", [fact])
        return [_contradiction(*row) for row in rows]

    def arrived_contradictions(self) -> list[tuple[str, str]]:
        """What the facts of the last ``put_source`` say against those of other sources: one for each key."""
        arrived = "IN (SELECT key FROM arrived WHERE kind = 'fact')"
        rows = self._db.execute(
            f"SELECT DISTINCT ON (1) * FROM ({_CONTRADICTIONS} AND a.key {arrived} AND b.key NOT {arrived}) "
            "found(a, b, c, d, e, f) ORDER BY 1, 2"
        )
        return [(row[0], _contradiction(*row)) for row in rows]

    # ---- neighbours and questions -----------------------------------------------------------------------------

    def asked_elsewhere(self) -> set[str]:
        """Keys of questions that a prompt of another fact names."""
        return self._first(
            "SELECT DISTINCT q.key FROM records p JOIN records q ON q.key = p.body->>'$.question' "
            "WHERE p.kind = 'prompt' AND p.current AND q.kind = 'question' AND q.current AND q.parent <> p.parent"
        )

    def beside(self, keys: Collection[str]) -> set[str]:
        """Which of these facts are linked to as somebody's neighbour."""
        return self._first(f"SELECT DISTINCT fact FROM neighbours WHERE fact IN {_LIST}", sorted(keys))

    def edits_beside(self, keys: Collection[str]) -> set[str]:
        """The edits of which these facts are neighbours."""
        return self._first(f"SELECT DISTINCT edit FROM neighbours WHERE fact IN {_LIST}", sorted(keys))

    # ---- verdicts ---------------------------------------------------------------------------------------------

    def verdicts(self, item_ids: Iterable[str] | None = None, *, stale: bool = True) -> Iterator[Verdict]:
        """Current verdicts, all or those on the given items, in order of their keys; ``stale``: also the stale ones."""
        left_out = set() if stale else {item.id for item in self.stale()}
        verdicts = self.all(Verdict) if item_ids is None else self.of_parents(Verdict, item_ids)
        yield from (verdict for verdict in verdicts if verdict.id not in left_out)

    def judged(self, by: str, *, model: str | None = None) -> set[str]:
        """Ids of the items with current verdicts, none of them stale, by a check (``name@version``) and model."""
        sql = 'SELECT item_id, id FROM verdicts WHERE "by" = ? AND model IS NOT DISTINCT FROM ?'
        rows, stale = self._db.execute(sql, [by, model]), {item.id for item in self.stale()}
        return {item for item, _ in rows} - {item for item, verdict in rows if verdict in stale}

    def deciding_verdicts(self, items: Iterable[str], *, plain: Sequence[str]) -> Iterator[Verdict]:
        """Current verdicts on some items, without the ``keep`` of some checks."""
        kept = f"body->>'$.label' IS NOT DISTINCT FROM 'keep' AND body->>'$.by' IN {_LIST}"
        return self._records(Verdict, f"parent IN {_LIST} AND NOT ({kept})", [list(items), plain])

    def judges(self) -> list[str]:
        """Every ``by`` of the current verdicts."""
        return sorted(self._first('SELECT DISTINCT "by" FROM verdicts'))

    def units(self) -> list[tuple[Any, ...]]:
        """Units of the values: check (or task), model, unit, key of the first verdict, in order of the keys."""
        sql = 'SELECT "by", model, unit, min(key) FROM verdicts WHERE value IS NOT NULL GROUP BY ALL ORDER BY 4'
        return self._db.execute(sql)

    def links(self, by: Sequence[str]) -> Iterator[Verdict]:
        """Verdicts with a value by some judges, in order of their keys."""
        return self._records(Verdict, f"body->>'$.by' IN {_LIST} AND body->>'$.value' IS NOT NULL", [list(by)])

    def keeps(self) -> dict[str, int]:
        """Keep verdicts less drop verdicts by item id, near-duplicate verdicts left out."""
        rows = self._db.execute(
            "SELECT item_id, sum(CASE label WHEN 'keep' THEN 1 WHEN 'drop' THEN -1 ELSE 0 END) FROM verdicts "
            "WHERE NOT contains(regexp_extract(\"by\", '([^/@]*)@[0-9]+$', 1), 'duplicate') GROUP BY ALL"
        )
        return {item: int(n) for item, n in rows}

    # ---- lineage, splits, results -----------------------------------------------------------------------------

    def lineage(self, item_id: str) -> list[Lineage]:
        """How an item came to be, oldest first."""
        rows = self._db.execute("SELECT body FROM lineage WHERE item_id = ? ORDER BY made_at", [item_id])
        return [Lineage.model_validate_json(r[0]) for r in rows]

    def lineages(self, *, stage: str | None = None) -> Iterator[Lineage]:
        """All lineage, or that of one stage."""
        sql = "SELECT body FROM lineage WHERE stage = coalesce(?, stage) ORDER BY item_id, made_at"
        for row in self._db.stream(sql, [stage]):
            yield Lineage.model_validate_json(row[0])

    def sources_of(self, item_id: str) -> list[str]:
        """The imported sources that hold a record as it is."""
        sql = "SELECT DISTINCT source FROM source_items WHERE id = ? ORDER BY 1"
        return [name for (name,) in self._db.execute(sql, [item_id])] if has_sources(self._db) else []

    def first_file(self, source: ImportSource) -> str | None:
        """The file that an imported source came from first; None where it is new."""
        return first_file(self._db, source)

    def split_names(self) -> list[tuple[str, str, int]]:
        """(name@version, digest, number of cases) of every split."""
        rows: list[Any] = self._db.execute(
            "SELECT s.name, s.digest, count(c.case_id) FROM splits s LEFT JOIN split_cases c ON c.split = s.name "
            "GROUP BY ALL ORDER BY s.name"
        )
        return rows

    def open_split(self, name: str) -> Split:
        """A split by ``name`` (its highest version) or ``name@version``; its cases are read when they are gone through.

        The digest is verified at the end of each pass.

        Raises:
            UserError: no such split.
        """
        labels = [label for label, _, _ in self.split_names()]
        labels_of_name = [x for x in labels if x == name or x.rsplit("@", 1)[0] == name]
        if not labels_of_name:
            near = suggest(name, labels)
            raise UserError(
                f"no split '{name}' in the store",
                where=str(self.path),
                allowed=", ".join(labels) or "none is frozen yet",
                fix=f"did you mean '{near}'?" if near else "freeze one with: scedit split freeze",
            )
        label = max(labels_of_name, key=lambda label: version_order(label.rsplit("@", 1)[1]))
        header = self._split_header(label)

        def read() -> Iterator[AnyCase]:
            running = RunningDigest()
            for (body,) in self._db.stream(f"SELECT r.body FROM {_CASES} ORDER BY c.position", [label]):
                data = json.loads(body)
                running.add(data["key"], canonical_json(data))
                yield read_case(body)
            if running.hexdigest() != header["digest"]:
                raise DataError(f"the cases of '{label}' are not those that were frozen", where=str(self.path))

        title, version = str(header["split"]), str(header["version"])
        cases = CaseStream(int(header["cases"]), read)
        return Split(title, version, str(header["digest"]), cases, header, _StoredExtras(self, label))

    def split(self, name: str) -> Split:
        """The same with all cases in memory and without extras: what a run needs.

        Raises:
            UserError: no such split.
        """
        split = self.open_split(name)
        return Split.checked(split.header, list(split.all_cases), where=str(self.path))

    def split_sizes(self, label: str) -> tuple[int, int]:
        """Script prompts of a split (``name@version``) and its neighbours'; of events, both kinds of questions."""
        near = "sum(len(json_extract(r.body, '$.neighbours[*].prompts[*]')))"
        fields = {
            "event": "sum(json_array_length(r.body, '$.facts')), sum(json_array_length(r.body, '$.tendencies'))",
            "document": "sum(json_array_length(r.body, '$.probes')), 0",
        }.get(self._split_header(label).get("type", ""), f"sum(json_array_length(r.body, '$.prompts')), {near}")
        ((own, others),) = self._db.execute(f"SELECT {fields} FROM {_CASES}", [label])
        return int(own or 0), int(others or 0)

    def _split_header(self, label: str) -> dict[str, Any]:
        """The header of the split ``name@version``; empty where there is none."""
        rows = self._db.execute("SELECT header FROM splits WHERE name = ?", [label])
        return dict(json.loads(rows[0][0])) if rows else {}

    def results(self, run: str) -> Iterator[CaseResult]:
        """Results of a run, in order of the cases' keys."""
        for row in self._db.stream("SELECT body FROM results WHERE run = ? ORDER BY case_key", [run]):
            yield CaseResult.model_validate_json(row[0])

    # ---- the whole store --------------------------------------------------------------------------------------

    def stats(self) -> dict[str, Any]:
        """Counts: current records and all versions by kind, verdicts by check and label, splits, runs."""
        kinds = self._db.execute(
            "SELECT kind, count(*) FILTER (current), count(*) FROM records GROUP BY kind ORDER BY kind"
        )
        verdicts = self._db.execute(
            "SELECT \"by\", coalesce(label, 'measured'), count(*) FROM verdicts GROUP BY ALL ORDER BY 1, 2"
        )
        return {
            "store": str(self.path),
            "records": {k: {"current": c, "versions": n} for k, c, n in kinds},
            "verdicts": [{"by": b, "label": label, "count": n} for b, label, n in verdicts],
            "splits": [{"split": s, "digest": d, "cases": n} for s, d, n in self.split_names()],
            "sources": list_sources(self._db),
            "results": self._db.count("SELECT count(*) FROM results"),
            "lineage": self._db.count("SELECT count(*) FROM lineage"),
        }

    def everything(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every row as (table, its columns), in the order in which it came; JSON texts as values."""
        for table in TABLES:
            columns = [name for name in columns_of(self._db, table) if name != "seq"]
            names = ", ".join(f'"{name}"' for name in columns)
            for row in self._db.stream(f"SELECT {names} FROM {table}") if columns else ():
                values = zip(columns, row, strict=True)
                yield table, {name: json.loads(value) if name in JSON_TEXTS else value for name, value in values}

    def copy_to(self, path: Path | str) -> None:
        """Write a consistent copy of the whole database to a new file."""
        path = Path(path)
        source, target = (f"'{str(p).replace(chr(39), chr(39) * 2)}'" for p in (self.path, path))
        if self._db.execute("SELECT current_setting('access_mode')")[0][0].lower() == "read_only":
            with Connection(duckdb.connect(str(path), config=limits(path)), self.path) as other:
                other.execute(f"ATTACH {source} AS scedit_source (READ_ONLY)")  # it attaches nothing for writing itself
                other.execute(f"COPY FROM DATABASE scedit_source TO {_database(other)}")
            return
        self._db.execute(f"ATTACH {target} AS scedit_copy")
        try:
            self._db.execute(f"COPY FROM DATABASE {_database(self._db)} TO scedit_copy")
        finally:
            self._db.execute("DETACH scedit_copy")


def _contradiction(_: str, other: str, old: str, new: str | None, old_here: str, new_here: str | None) -> str:
    return disagreement(f"'{other}'", (old, new), (old_here, new_here))


class _StoredExtras(Extras):
    """Extras that are read from a store when they are asked for."""

    def __init__(self, store: StoreReader, label: str) -> None:
        self._store, self._label = store, label

    def __iter__(self) -> Iterator[Extra]:
        held = self._store.has("extra")
        return self._store._records(Extra, f"parent IN ({_IN_CASES})", [self._label]) if held else iter(())

    def of(self, facts: Collection[str]) -> list[Extra]:
        return self._store.of_parents(Extra, facts)


def columns_of(db: Connection, table: str) -> dict[str, str]:
    """The columns of a table with their types; none where the file does not have it."""
    sql = """SELECT column_name, data_type FROM information_schema.columns
             WHERE table_name = ? AND table_catalog = current_database() ORDER BY ordinal_position"""
    return dict(db.execute(sql, [table]))  # type: ignore[arg-type]


def _database(db: Connection) -> str:
    """The name of a connection's database as SQL writes it: it is called after its file, whatever that is called."""
    name = str(db.execute("SELECT current_database()")[0][0])
    return '"' + name.replace('"', '""') + '"'
