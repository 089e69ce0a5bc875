"""Reading a store: one record or all of a kind, verdicts, lineage, splits, results, counts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from curation.splits.split_file import CaseStream, RunningDigest, Split
from curation.store.block_reader import BlockReader
from curation.store.connection import Connection, limits
from curation.store.contradictions import Contradiction, contradictions_of
from curation.store.import_sources import ImportSource, first_file, list_sources, sources_of
from curation.store.origins import StaleItem, stale_items
from schemas.cases import AnyCase, Case, DocumentCase, EventCase, read_case
from schemas.core.errors import DataError, UserError
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
FETCH = 2000
_SPLIT = (
    "SELECT r.body FROM split_cases c JOIN records r ON r.id = c.case_id WHERE c.split = ? AND c.position >= ? "
    "AND c.position < ? AND r.kind IN ('case', 'event_case', 'document_case') ORDER BY c.position"
)
_CASES = 5000  # cases that are put in order at a time


class StoreReader(BlockReader):
    """The reading half of ``Store``."""

    _db: Connection
    path: Path

    def get(self, item: str) -> Record:
        """A record by key (its current version), by id, or by the unique beginning (6 or more characters) of an id.

        Raises:
            UserError: nothing or more than one thing answers to it.
        """
        rows = self._db.execute("SELECT kind, body FROM records WHERE key = ? AND current", [item]).fetchall()
        if not rows:
            rows = self._db.execute("SELECT kind, body FROM records WHERE id = ?", [item]).fetchall()
        if not rows and re.fullmatch(r"[0-9a-f]{6,}", item):
            rows = self._db.execute(
                "SELECT kind, body FROM records WHERE starts_with(id, ?) LIMIT 9", [item]
            ).fetchall()
        if not rows:
            raise self._no_item(item)
        if len(rows) > 1:
            raise UserError(f"'{item}' stands for {len(rows)} items", where=str(self.path), fix="give more of the id")
        return _record(rows[0])

    def _no_item(self, item: str) -> UserError:
        where = str(self.path)
        earlier = self._db.execute("SELECT id FROM records WHERE key = ? ORDER BY seq DESC LIMIT 1", [item]).fetchone()
        if earlier:
            what = f"the item '{item}' is no longer current: its source brings it no more, or its fact was replaced"
            return UserError(what, where=where, fix=f"its last version: scedit store show {earlier[0][:12]} -s {where}")
        near = self._nearest_key(item)
        fix = f"did you mean '{near}'?" if near else f"see: scedit store list fact --store {where}"
        return UserError(f"no item '{item}' in the store", where=where, fix=fix)

    def _nearest_key(self, item: str) -> str | None:
        rows = self._db.execute(
            "SELECT key FROM records WHERE current AND kind <> 'verdict' "
            "ORDER BY jaro_winkler_similarity(key, ?) DESC LIMIT 1",
            [item],
        ).fetchall()
        return suggest(item, [r[0] for r in rows])

    def all(self, cls: type[R], *, parent: str | None = None) -> Iterator[R]:
        """Current records of a kind in order of their keys; with ``parent``, only that parent's."""
        if parent is not None:
            yield from self.of_parents(cls, [parent])
            return
        for row in self._in_order(cls.kind):
            record = _record(row)
            assert isinstance(record, cls)
            yield record

    def keys(self, kind: str, *, like: str = "", limit: int | None = None) -> list[tuple[str, str]]:
        """(key, id) of the current records of a kind whose key contains ``like``."""
        if kind not in KINDS:
            raise UserError(f"unknown kind '{kind}'", allowed=", ".join(KINDS))
        sql = "SELECT key, id FROM records WHERE kind = ? AND current AND contains(lower(key), lower(?)) ORDER BY key"
        rows = self._db.execute(sql + (f" LIMIT {int(limit)}" if limit is not None else ""), [kind, like]).fetchall()
        return [(k, i) for k, i in rows]

    def verdicts(self, item_ids: Iterable[str] | None = None, *, stale: bool = True) -> Iterator[Verdict]:
        """Current verdicts, all or those on the given items, in order of their keys; ``stale``: also the stale ones."""
        left_out = set() if stale else {item.id for item in self.stale()}
        verdicts = self.all(Verdict) if item_ids is None else self.of_parents(Verdict, item_ids)
        yield from (verdict for verdict in verdicts if verdict.id not in left_out)

    def judged(self, by: str, *, model: str | None = None) -> set[str]:
        """Ids of the items with a current verdict, not stale, by a check (``name@version``) and model."""
        rows = self._db.execute(
            'SELECT item_id, id FROM verdicts WHERE "by" = ? AND model IS NOT DISTINCT FROM ?', [by, model]
        ).fetchall()
        stale = {item.id for item in self.stale()}
        return {item for item, verdict in rows if verdict not in stale}

    def stale(self, *, root: str | None = None, prefix: str = "") -> list[StaleItem]:
        """Current records that were made from content that has changed; see ``curation.store.origins``."""
        return stale_items(self._db, root=root, prefix=prefix)

    def known(self, item_ids: Iterable[str]) -> set[str]:
        """Those of the content ids that the store holds."""
        rows = self._db.execute(
            "SELECT id FROM records WHERE id IN (SELECT unnest(?::VARCHAR[]))", [list(item_ids)]
        ).fetchall()
        return {item for (item,) in rows}

    def former(self, item_ids: Iterable[str]) -> set[str]:
        """Those of the content ids whose record has another version by now, or none."""
        rows = self._db.execute(
            "SELECT id FROM records WHERE NOT current AND id IN (SELECT unnest(?::VARCHAR[]))", [list(item_ids)]
        ).fetchall()
        return {item for (item,) in rows}

    def lineage(self, item_id: str) -> list[Lineage]:
        """How an item came to be, oldest first."""
        rows = self._db.execute("SELECT body FROM lineage WHERE item_id = ? ORDER BY made_at", [item_id]).fetchall()
        return [Lineage.model_validate_json(r[0]) for r in rows]

    def lineages(self, *, stage: str | None = None) -> Iterator[Lineage]:
        """All lineage, or that of one stage."""
        sql = "SELECT body FROM lineage" + ("" if stage is None else " WHERE stage = ?") + " ORDER BY item_id, made_at"
        for row in self._stream(sql, [] if stage is None else [stage]):
            yield Lineage.model_validate_json(row[0])

    def split_names(self) -> list[tuple[str, str, int]]:
        """(name@version, digest, number of cases) of every split."""
        rows: list[tuple[str, str, int]] = self._db.execute(
            "SELECT s.name, s.digest, count(c.case_id) FROM splits s LEFT JOIN split_cases c ON c.split = s.name "
            "GROUP BY ALL ORDER BY s.name"
        ).fetchall()
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
        label = max(labels_of_name, key=_age)
        header = self._split_header(label)

        def read() -> Iterator[AnyCase]:
            running = RunningDigest()
            for first in range(0, int(header["cases"]), _CASES):
                for (body,) in self._stream(_SPLIT, [label, first, first + _CASES]):
                    data = json.loads(body)
                    running.add(data["key"], data)
                    yield read_case(body)
            if running.hexdigest() != header["digest"]:
                raise DataError(f"the cases of '{label}' are not those that were frozen", where=str(self.path))

        name, version = str(header["split"]), str(header["version"])
        cases = CaseStream(int(header["cases"]), read)
        return Split(name, version, str(header["digest"]), cases, header, self.extras_of(label))

    def split_sizes(self, label: str) -> tuple[int, int]:
        """Script prompts of a split (``name@version``) and its neighbours'; of events, both kinds of questions."""
        near = "sum(len(json_extract(r.body, '$.neighbours[*].prompts[*]')))"
        fields = f"sum(json_array_length(r.body, '$.prompts')), {near}"
        type = self._split_header(label).get("type")
        if type == "event":
            fields = "sum(json_array_length(r.body, '$.facts')), sum(json_array_length(r.body, '$.tendencies'))"
        elif type == "document":
            fields = "sum(json_array_length(r.body, '$.probes')), 0"
        rows = self._db.execute(
            f"SELECT {fields} FROM split_cases c JOIN records r ON r.id = c.case_id WHERE c.split = ?", [label]
        ).fetchall()
        return int(rows[0][0] or 0), int(rows[0][1] or 0)

    def _split_header(self, label: str) -> dict[str, Any]:
        """The header of the split ``name@version``; empty where there is none."""
        row = self._db.execute("SELECT header FROM splits WHERE name = ?", [label]).fetchone()
        return {} if row is None else dict(json.loads(row[0]))

    def split(self, name: str) -> Split:
        """The same with all cases in memory and without extras: what a run needs.

        Raises:
            UserError: no such split.
        """
        split = self.open_split(name)
        return Split.checked(split.header, list(split.all_cases), where=str(self.path))

    def results(self, run: str) -> Iterator[CaseResult]:
        """Results of a run, in order of the cases' keys."""
        for row in self._stream("SELECT body FROM results WHERE run = ? ORDER BY case_key", [run]):
            yield CaseResult.model_validate_json(row[0])

    def stats(self) -> dict[str, Any]:
        """Counts: current records and all versions by kind, verdicts by check and label, splits, runs."""
        kinds = self._db.execute(
            "SELECT kind, count(*) FILTER (current), count(*) FROM records GROUP BY kind ORDER BY kind"
        ).fetchall()
        verdicts = self._db.execute(
            "SELECT \"by\", coalesce(label, 'measured'), count(*) FROM verdicts GROUP BY ALL ORDER BY 1, 2"
        ).fetchall()
        return {
            "store": str(self.path),
            "records": {k: {"current": c, "versions": n} for k, c, n in kinds},
            "verdicts": [{"by": b, "label": label, "count": n} for b, label, n in verdicts],
            "splits": [{"split": s, "digest": d, "cases": n} for s, d, n in self.split_names()],
            "sources": list_sources(self._db),
            "results": self._count("SELECT count(*) FROM results"),
            "lineage": self._count("SELECT count(*) FROM lineage"),
        }

    def everything(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every row as (table, its columns), in the order in which it came; JSON texts as values."""
        for table in TABLES:
            columns = [name for name in columns_of(self._db, table) if name != "seq"]
            for row in self._stream(f"SELECT {_quoted(columns)} FROM {table}", []) if columns else ():
                values = zip(columns, row, strict=True)
                yield table, {name: json.loads(value) if name in JSON_TEXTS else value for name, value in values}

    def sources_of(self, item_id: str) -> list[str]:
        """The imported sources that hold a record as it is."""
        return sources_of(self._db, item_id)

    def first_file(self, source: ImportSource) -> str | None:
        """The file that an imported source came from first; None where it is new."""
        return first_file(self._db, source)

    def contradictions(self, fact: str) -> list[Contradiction]:
        """What other current facts say against one, by its key."""
        return contradictions_of(self._db, fact)

    def copy_to(self, path: Path | str) -> None:
        """Write a consistent copy of the whole database to a new file."""
        path = Path(path)
        source, target = (f"'{str(p).replace(chr(39), chr(39) * 2)}'" for p in (self.path, path))
        access = self._db.execute("SELECT current_setting('access_mode')").fetchall()[0][0]
        if str(access).lower() == "read_only":  # it attaches nothing for writing: copy from the other side
            with Connection(duckdb.connect(str(path), config=limits(path)), self.path) as other:
                other.execute(f"ATTACH {source} AS scedit_source (READ_ONLY)")
                database = _quoted_name(other)
                other.execute(f"COPY FROM DATABASE scedit_source TO {database}")
            return
        database = _quoted_name(self._db)
        self._db.execute(f"ATTACH {target} AS scedit_copy")
        try:
            self._db.execute(f"COPY FROM DATABASE {database} TO scedit_copy")
        finally:
            self._db.execute("DETACH scedit_copy")

    def _stream(self, sql: str, values: list[Any]) -> Iterator[tuple[Any, ...]]:
        cursor = self._db.cursor()
        try:
            cursor.execute(sql, values)
            while rows := cursor.fetchmany(FETCH):
                yield from rows
        finally:
            cursor.close()

    def _make_record(self, row: tuple[Any, ...]) -> Record:
        record = _record(row)
        record.__dict__["id"] = row[2]  # the same hash, made when the record came
        return record

    def _count(self, sql: str) -> int:
        row = self._db.execute(sql).fetchone()
        return int(row[0]) if row else 0


def columns_of(db: Connection, table: str) -> dict[str, str]:
    """The columns of a table with their types; none where the store does not have it."""
    sql = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = ? ORDER BY ordinal_position"
    return dict(db.execute(sql, [table]).fetchall())


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _quoted_name(db: Connection) -> str:
    """The name of a connection's database as SQL writes it: it is called after its file, whatever that is called."""
    name = str(db.execute("SELECT current_database()").fetchall()[0][0])
    return '"' + name.replace('"', '""') + '"'


def _record(row: tuple[Any, ...]) -> Record:
    return KINDS[row[0]].model_validate_json(row[1])


def _age(label: str) -> tuple[list[int], bool, list[tuple[bool, int, str]]]:
    """Order of ``name@version``: numbers first, and a suffix (1.0.0-rc.1) comes before the version itself."""
    number, _, suffix = label.rsplit("@", 1)[1].partition("-")
    parts = [(not p.isdigit(), int(p) if p.isdigit() else 0, p) for p in suffix.split(".")]
    return [int(p) if p.isdigit() else 0 for p in number.split(".")], not suffix, parts
