"""Live answers in SQLite: append-only revisions, one transaction a save, safe for many processes and for kill -9.

DuckDB refuses every other process while it is written, so people's answers land here and are imported later. WAL with
``synchronous=FULL`` keeps every acknowledged save; ``BEGIN IMMEDIATE`` and a busy time-out queue the writers.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.forms import Answers
from schemas.core.clock import now
from schemas.core.errors import StoreError, UserError

SCHEMA = """
CREATE TABLE campaigns (name TEXT PRIMARY KEY, task TEXT NOT NULL, form TEXT NOT NULL, settings TEXT NOT NULL,
    made_at TEXT NOT NULL);
CREATE TABLE people (name TEXT PRIMARY KEY, role TEXT NOT NULL, secret TEXT NOT NULL, synthetic INTEGER NOT NULL,
    made_at TEXT NOT NULL);
CREATE TABLE sessions (token TEXT PRIMARY KEY, person TEXT NOT NULL REFERENCES people(name) ON DELETE CASCADE,
    expires_at TEXT NOT NULL);
CREATE TABLE items (campaign TEXT NOT NULL REFERENCES campaigns(name), id TEXT NOT NULL, body TEXT NOT NULL,
    purpose TEXT NOT NULL, expected TEXT, probability REAL, PRIMARY KEY (campaign, id));
CREATE TABLE assignments (campaign TEXT NOT NULL, person TEXT NOT NULL, item TEXT NOT NULL, batch INTEGER NOT NULL,
    position INTEGER NOT NULL, PRIMARY KEY (campaign, person, item),
    FOREIGN KEY (campaign, item) REFERENCES items(campaign, id));
CREATE TABLE revisions (id INTEGER PRIMARY KEY AUTOINCREMENT, campaign TEXT NOT NULL, person TEXT NOT NULL,
    item TEXT NOT NULL, form TEXT NOT NULL, answers TEXT, seconds REAL, saved_at TEXT NOT NULL, token TEXT UNIQUE,
    received_at TEXT);
CREATE TABLE decisions (id INTEGER PRIMARY KEY AUTOINCREMENT, campaign TEXT NOT NULL, item TEXT NOT NULL,
    lead TEXT NOT NULL, answers TEXT NOT NULL, saved_at TEXT NOT NULL);
CREATE TABLE links (site TEXT NOT NULL, kind TEXT NOT NULL, local TEXT NOT NULL, remote TEXT NOT NULL,
    PRIMARY KEY (site, kind, local));
CREATE TABLE drafts (campaign TEXT NOT NULL, person TEXT NOT NULL, item TEXT NOT NULL, answers TEXT NOT NULL,
    saved_at TEXT NOT NULL, PRIMARY KEY (campaign, person, item));
CREATE TABLE consents (person TEXT NOT NULL, digest TEXT NOT NULL, text TEXT NOT NULL, agreed_at TEXT NOT NULL,
    PRIMARY KEY (person, digest));
CREATE TABLE skips (campaign TEXT NOT NULL, person TEXT NOT NULL, item TEXT NOT NULL, reason TEXT NOT NULL,
    seconds REAL, saved_at TEXT NOT NULL, PRIMARY KEY (campaign, person, item));
CREATE TABLE preferences (person TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (person, name));
CREATE INDEX revisions_by_item ON revisions (campaign, person, item, id);
"""
VERSION = 6
"""Of the tables; a file of another version is refused."""


class Revision(NamedTuple):
    """One save.

    Attributes:
        answers: None withdraws the earlier ones (undo); empty where what is stored is no set of answers.
        seconds: The time the person took; None where it is unknown or cannot be one (text, zero, negative, endless).
        saved_at: When the person saved.
        token: The name of this very save, None where it has none.
        odd_time: A time is stored that cannot be one; ``seconds`` is None then.
    """

    id: int
    campaign: str
    person: str
    item: str
    form: str
    answers: dict[str, Any] | None
    seconds: float | None
    saved_at: str
    token: str | None = None
    odd_time: bool = False


class Campaign(NamedTuple):
    """A round of work: a task, the form it began with, and its settings as they were given."""

    name: str
    task: str
    form: str
    settings: dict[str, Any]
    made_at: str


class CampaignItem(NamedTuple):
    """An item in a campaign.

    Attributes:
        item: What is judged.
        purpose: ``real``, ``training`` (the right answer is told afterwards) or ``attention`` (it never is).
        expected: The right answers of training and attention items.
        probability: With which a real item came into the campaign; None where nothing was sampled.
    """

    item: TaskItem
    purpose: str = "real"
    expected: dict[str, Any] | None = None
    probability: float | None = None


class Assignment(NamedTuple):
    """That a person is to judge an item, in a batch, at a position of their own order."""

    person: str
    item: str
    batch: int
    position: int


class Adjudication(NamedTuple):
    """What a lead decided about an item, beside what people said."""

    item: str
    lead: str
    answers: dict[str, Any]
    saved_at: str


_BESIDE = ("", "-wal", "-shm", "-journal")  # SQLite's own files carry answers too
_ROOM = 64 * 1024  # bytes that SQLite needs for them
_log = logging.getLogger(__name__)


def open_ratings_file(path: Path, *, create: bool, patience: float) -> sqlite3.Connection:
    """A connection to a ratings file, with the tables of this program.

    The file is made readable by its owner only. If others could read it, that is changed, and a warning says so.

    Args:
        path: The file.
        create: Make it when it is absent.
        patience: Seconds to wait for another writer.

    Raises:
        StoreError: absent, unreadable, foreign, or written by another version of the program.
    """
    if not path.exists() and not create:
        raise StoreError("there is no such ratings file", where=str(path), fix="make one with: scedit annotate new")
    with ExitStack() as opened:  # closes it again where it cannot be used
        try:
            if create:
                path.parent.mkdir(parents=True, exist_ok=True)
                os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            db = opened.enter_context(closing(sqlite3.connect(path, timeout=patience, isolation_level=None)))
        except (sqlite3.Error, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise StoreError(f"cannot be opened: {why}", where=str(path)) from None
        try:
            db.row_factory = sqlite3.Row
            db.execute("PRAGMA foreign_keys = ON")
            db.execute("PRAGMA synchronous = FULL")
            _prepare(db, path)
            opened.pop_all()
        except sqlite3.OperationalError as error:
            raise file_fault(error, path) from None
        except sqlite3.DatabaseError as error:
            raise StoreError(f"not readable as a ratings file: {error}", where=str(path)) from None
    for tightened in make_private([path.with_name(path.name + end) for end in _BESIDE]):
        _log.warning("%s could be read by others on this machine: it is its owner's alone now", tightened)
    return db


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version == VERSION:
        return
    if version:
        raise StoreError(
            f"the ratings file has version {version}, this program reads version {VERSION}",
            where=str(path),
            fix="open it with the version of the program that wrote it",
        )
    if not _tables(db):
        db.execute("PRAGMA journal_mode = WAL")
    with db:
        db.execute("BEGIN IMMEDIATE")  # another process may be making the file just now
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version == 0:
            if _tables(db):
                raise StoreError("this SQLite file is no ratings file", where=str(path), fix="name another file")
            for statement in SCHEMA.strip().removesuffix(";").split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {VERSION}")


def _tables(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table'").fetchone()[0])


def make_private(paths: Sequence[Path]) -> list[Path]:
    """Take away what others than the owner may do with files; returns those that others could do something with.

    Files that are absent, or another user's, are left as they are.
    """
    tightened = []
    for path in paths:
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode & 0o077:
                path.chmod(mode & 0o700)
                tightened.append(path)
        except OSError:
            continue
    return tightened


def file_fault(error: sqlite3.Error, path: Path) -> StoreError:
    """What SQLite says of a file, as a clause that people understand, with the next step."""
    message, full = str(error), is_full(error, path)
    if full:
        message = "the disk is full"
    elif "locked" in message or "busy" in message:
        message = "another program holds the ratings file"
    elif "readonly" in message:
        message = "the ratings file may only be read"
    fix = "make room on the disk and save again" if full else "try again in a minute"
    return StoreError(f"nothing was saved: {message}", where=str(path), fix=fix)


def is_full(error: sqlite3.Error, path: Path) -> bool:
    """Whether the disk is full; SQLite calls it an I/O error where it cannot make the files beside the database."""
    if "full" in str(error):
        return True
    try:
        return ("I/O" in str(error) or "unable to open" in str(error)) and shutil.disk_usage(path.parent).free < _ROOM
    except OSError:
        return False


BUSY = 30.0  # seconds that a save waits for another writer
LONGEST = 1e7  # seconds; a time beyond that (four months) is none


class RatingsDB:
    """The answers of people, one SQLite file; use as a context manager. One object belongs to one thread.

    Args:
        path: The file.
        create: Make it when it is absent.

    Raises:
        StoreError: absent, unreadable, foreign, or written by another version of the program.
    """

    def __init__(self, path: Path | str, *, create: bool = False) -> None:
        self.path = Path(path)
        self.connection = open_ratings_file(self.path, create=create, patience=BUSY)

    def __enter__(self) -> RatingsDB:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if isinstance(error, sqlite3.OperationalError):  # a lock or a full disk while something was read
            raise file_fault(error, self.path) from None

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    @contextmanager
    def write_transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, also of several in one; a full disk, a lock or an unwritable file is one sentence."""
        if self.connection.in_transaction:
            yield self.connection
            return
        try:
            with self.connection:
                self.connection.execute("BEGIN IMMEDIATE")
                yield self.connection
        except sqlite3.OperationalError as error:
            raise file_fault(error, self.path) from None

    # ---- campaigns and items ---------------------------------------------------------------------------------

    def add_campaign(self, campaign: Campaign) -> None:
        """Keep a campaign; the same one again is no change.

        Raises:
            UserError: the name is taken by another task or form.
        """
        with self.write_transaction() as db:
            row = db.execute("SELECT task, form FROM campaigns WHERE name = ?", [campaign.name]).fetchone()
            if row and (row["task"], row["form"]) != (campaign.task, campaign.form):
                raise UserError(
                    f"the campaign '{campaign.name}' is there already, with the form {row['form']}",
                    where=str(self.path),
                    fix="give the new one another name",
                )
            db.execute(
                "INSERT INTO campaigns VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET settings = ?4",
                [campaign.name, campaign.task, campaign.form, json.dumps(campaign.settings), campaign.made_at],
            )

    def campaigns(self) -> list[Campaign]:
        """All campaigns, oldest first."""
        rows = self.connection.execute("SELECT * FROM campaigns ORDER BY made_at, name").fetchall()
        return [Campaign(r["name"], r["task"], r["form"], json.loads(r["settings"]), r["made_at"]) for r in rows]

    def campaign(self, name: str) -> Campaign:
        """One campaign.

        Raises:
            UserError: there is none of that name.
        """
        known = {c.name: c for c in self.campaigns()}
        if name not in known:
            raise UserError(
                f"no campaign '{name}'", where=str(self.path), allowed=", ".join(known) or "none is made yet"
            )
        return known[name]

    def add_items(
        self,
        campaign: str,
        items: Sequence[CampaignItem],
        assigned: Sequence[Assignment],
        taken: Sequence[Assignment] = (),
    ) -> None:
        """Add items and assignments, and take some back; an assignment with an answer is never taken back."""
        with self.write_transaction() as db:
            db.executemany(
                "DELETE FROM assignments WHERE campaign = ?1 AND person = ?2 AND item = ?3 AND NOT EXISTS (SELECT 1 "
                "FROM revisions r WHERE r.campaign = ?1 AND r.person = ?2 AND r.item = ?3)",
                [(campaign, a.person, a.item) for a in taken],
            )
            db.executemany(
                "INSERT OR IGNORE INTO items VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (
                        campaign,
                        p.item.id,
                        p.item.model_dump_json(),
                        p.purpose,
                        None if p.expected is None else json.dumps(p.expected),
                        p.probability,
                    )
                    for p in items
                ],
            )
            db.executemany(
                "INSERT OR IGNORE INTO assignments VALUES (?, ?, ?, ?, ?)",
                [(campaign, a.person, a.item, a.batch, a.position) for a in assigned],
            )

    def items(self, campaign: str) -> dict[str, CampaignItem]:
        """The items of a campaign by id, in the order in which they were placed."""
        rows = self.connection.execute("SELECT * FROM items WHERE campaign = ? ORDER BY rowid", [campaign]).fetchall()
        return {r["id"]: _campaign_item(r) for r in rows}

    def item(self, campaign: str, item: str) -> CampaignItem:
        """One item.

        Raises:
            UserError: the campaign has no such item.
        """
        row = self.connection.execute("SELECT * FROM items WHERE campaign = ? AND id = ?", [campaign, item]).fetchone()
        if row is None:
            raise UserError(f"no item '{item}' in the campaign '{campaign}'", where=str(self.path))
        return _campaign_item(row)

    def assignments(self, campaign: str, person: str | None = None) -> list[Assignment]:
        """Who is to judge what, by person and position."""
        sql, values = "SELECT * FROM assignments WHERE campaign = ?", [campaign]
        if person is not None:
            sql, values = sql + " AND person = ?", [campaign, person]
        rows = self.connection.execute(sql + " ORDER BY person, batch, position", values).fetchall()
        return [Assignment(r["person"], r["item"], r["batch"], r["position"]) for r in rows]

    # ---- answers -----------------------------------------------------------------------------------------------

    def save(
        self,
        campaign: str,
        person: str,
        item: str,
        answers: Answers | None,
        *,
        form: str,
        seconds: float | None = None,
        token: str | None = None,
        saved_at: str | None = None,
    ) -> int:
        """Append a revision in one transaction; returns its number.

        Args:
            campaign: Where.
            person: Who.
            item: Content id of the item.
            answers: Checked answers; None withdraws what was said (undo).
            form: ``name@version`` of the form they were given to.
            seconds: Time taken.
            token: A name for this very save: given again (a browser that sends twice) it is not saved twice.
            saved_at: When the person saved, where that was elsewhere; the time of arrival is kept beside it.

        Raises:
            UserError: the item is not assigned to this person, or the token belongs to another item's save.
            StoreError: the file cannot be written; nothing was saved.
        """
        with self.write_transaction() as db:
            self.check_assigned(campaign, person, item)
            if token is not None:
                row = db.execute("SELECT id, campaign, person, item FROM revisions WHERE token = ?", [token]).fetchone()
                if row is not None and tuple(row)[1:] != (campaign, person, item):
                    raise UserError("its name was used for an answer to another item", where=campaign)
                if row is not None:
                    return int(row["id"])
            body = None if answers is None else json.dumps(dict(answers), ensure_ascii=False)
            here = now("milliseconds")
            done = db.execute(
                "INSERT INTO revisions (campaign, person, item, form, answers, seconds, saved_at, token, received_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [campaign, person, item, form, body, seconds, saved_at or here, token, saved_at and here],
            )
            for table in ("drafts", "skips"):  # an answer replaces both
                db.execute(f"DELETE FROM {table} WHERE (campaign, person, item) = (?, ?, ?)", [campaign, person, item])
            return int(done.lastrowid or 0)

    def check_assigned(self, campaign: str, person: str, item: str) -> None:
        """Reject an item that is not a person's.

        Raises:
            UserError: it is not assigned to them.
        """
        known = "SELECT 1 FROM assignments WHERE campaign = ? AND person = ? AND item = ?"
        if self.connection.execute(known, [campaign, person, item]).fetchone() is None:
            raise UserError(f"the item '{item}' is not assigned to '{person}'", where=campaign)

    def revision_of(self, token: str) -> Revision | None:
        """The save of this name, or None."""
        row = self.connection.execute("SELECT * FROM revisions WHERE token = ?", [token]).fetchone()
        return None if row is None else _revision(row)

    def current_answers(self, campaign: str, *, person: str | None = None) -> list[Revision]:
        """The latest revision of every person and item, withdrawn ones left out, in order of saving."""
        sql = "SELECT max(id) AS id FROM revisions WHERE campaign = ?"
        values: list[Any] = [campaign]
        if person is not None:
            sql, values = sql + " AND person = ?", [campaign, person]
        rows = self.connection.execute(
            f"SELECT * FROM revisions WHERE id IN ({sql} GROUP BY person, item) AND answers IS NOT NULL ORDER BY id",
            values,
        ).fetchall()
        return [_revision(r) for r in rows]

    def history(self, campaign: str, *, person: str | None = None, item: str | None = None) -> list[Revision]:
        """All revisions in order of saving."""
        sql, values = "SELECT * FROM revisions WHERE campaign = ?", [campaign]
        for column, value in (("person", person), ("item", item)):
            if value is not None:
                sql, values = f"{sql} AND {column} = ?", [*values, value]
        return [_revision(r) for r in self.connection.execute(sql + " ORDER BY id", values).fetchall()]

    def adjudicate(self, campaign: str, item: str, lead: str, answers: Answers) -> int:
        """Append a lead's decision on an item that people differ on; returns its number."""
        self.item(campaign, item)
        with self.write_transaction() as db:
            body = json.dumps(dict(answers), ensure_ascii=False)
            done = db.execute(
                "INSERT INTO decisions (campaign, item, lead, answers, saved_at) VALUES (?, ?, ?, ?, ?)",
                [campaign, item, lead, body, now("milliseconds")],
            )
            return int(done.lastrowid or 0)

    def adjudications(self, campaign: str) -> dict[str, Adjudication]:
        """The latest decision on each item."""
        rows = self.connection.execute("SELECT * FROM decisions WHERE campaign = ? ORDER BY id", [campaign]).fetchall()
        return {r["item"]: Adjudication(r["item"], r["lead"], _mapping(r["answers"]), str(r["saved_at"])) for r in rows}

    def link(self, site: str, kind: str, pairs: Sequence[tuple[str, str]]) -> None:
        """Remember what our things are called at another site (accounts, projects, tasks of a Label Studio)."""
        with self.write_transaction() as db:
            rows = [(site, kind, local, remote) for local, remote in pairs]
            db.executemany("INSERT OR REPLACE INTO links VALUES (?, ?, ?, ?)", rows)

    def remote_names(self, site: str, kind: str) -> dict[str, str]:
        """Remote names by local names, in order of the local ones."""
        rows = self.connection.execute(
            "SELECT local, remote FROM links WHERE site = ? AND kind = ? ORDER BY local", [site, kind]
        ).fetchall()
        return {r["local"]: r["remote"] for r in rows}


def _campaign_item(row: sqlite3.Row) -> CampaignItem:
    expected = None if row["expected"] is None else json.loads(row["expected"])
    return CampaignItem(TaskItem.model_validate_json(row["body"]), row["purpose"], expected, row["probability"])


def _revision(row: sqlite3.Row) -> Revision:
    """A row as a revision, whatever other programs put into it."""
    answers = None if row["answers"] is None else _mapping(row["answers"])
    seconds = usable_seconds(row["seconds"])
    odd = row["seconds"] is not None and seconds is None
    saved_at = row["saved_at"] if isinstance(row["saved_at"], str) else ""
    return Revision(
        row["id"], row["campaign"], row["person"], row["item"], row["form"], answers, seconds, saved_at,
        row["token"], odd,
    )  # fmt: skip


def _mapping(body: Any) -> dict[str, Any]:
    """Stored answers; empty where the text is no JSON object."""
    try:
        answers = json.loads(body)
    except (TypeError, ValueError, RecursionError):
        return {}
    return answers if isinstance(answers, dict) else {}


def usable_seconds(seconds: Any) -> float | None:
    """A stored time, or None where it cannot be one: text, zero, negative, endless, longer than four months.

    Example:
        >>> [usable_seconds(s) for s in (3.5, 0, -2, "4", float("nan"), 1e308)]
        [3.5, None, None, None, None, None]
    """
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    return float(seconds) if number and 0 < seconds <= LONGEST else None
