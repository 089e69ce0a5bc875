"""Who takes part: pseudonyms, roles, secrets (kept hashed), sessions, consent, deletion."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Literal, NamedTuple

from annotation_ui.ratings.database import RatingsDB
from schemas.core.clock import now
from schemas.core.errors import StoreError, UserError
from schemas.core.ids import digest
from schemas.raters import PROGRAM_PREFIX, Rater

Role = Literal["rater", "lead"]
SESSION = timedelta(hours=12)
_SLIDE = timedelta(minutes=5)  # a session is prolonged at most so often


class RaterAccount(NamedTuple):
    """A person, under a pseudonym. ``synthetic``: a program, whose answers are labelled as such wherever they go."""

    name: str
    role: Role
    synthetic: bool
    consented_at: str | None


def _hash(secret: str) -> str:
    """Secrets are 144 random bits that we draw ourselves, so one round of SHA-256 is as hard to turn back as any."""
    return hashlib.sha256(f"scedit {secret}".encode(errors="surrogatepass")).hexdigest()


def invite(db: RatingsDB, name: str, *, role: Role = "rater", synthetic: bool = False) -> str:
    """Add a person, or give a known one a new secret (the old one and its sessions end); returns the secret.

    The secret is told here once and cannot be read back.

    Raises:
        UserError: the name cannot stand in a verdict, or the person has another role.
    """
    from curation.quality.sheets import check_people

    check_people([name])
    if synthetic != Rater.person(name).is_program:
        raise UserError(
            f"'{name}' is {'a program' if synthetic else 'a person'}",
            allowed=f"names of programs, and no others, begin with '{PROGRAM_PREFIX}'",
        )
    secret = secrets.token_urlsafe(18)
    with db.write_transaction():
        known = _row(db, name)
        if known is not None and known["role"] != role:
            raise UserError(f"'{name}' is a {known['role']} already", where=str(db.path), fix="take another name")
        db.connection.execute(
            "INSERT INTO people VALUES (?, ?, ?, ?, NULL, ?) ON CONFLICT (name) DO UPDATE SET secret = ?3",
            [name, role, _hash(secret), int(synthetic), now("milliseconds")],
        )
        db.connection.execute("DELETE FROM sessions WHERE person = ?", [name])
    return secret


def list_raters(db: RatingsDB) -> list[RaterAccount]:
    """Everybody, by name."""
    return [_person(r) for r in db.connection.execute("SELECT * FROM people ORDER BY name").fetchall()]


def get_rater(db: RatingsDB, name: str) -> RaterAccount:
    """One person.

    Raises:
        UserError: nobody is called so.
    """
    row = _row(db, name)
    if row is None:
        known = ", ".join(p.name for p in list_raters(db)) or "nobody is invited yet"
        raise UserError(f"no person '{name}'", where=str(db.path), allowed=known)
    return _person(row)


def log_in(db: RatingsDB, secret: str) -> str | None:
    """Exchange a secret for a session token; None when nobody has this secret."""
    row = db.connection.execute("SELECT name FROM people WHERE secret = ?", [_hash(secret.strip())]).fetchone()
    if row is None:
        return None
    token = secrets.token_urlsafe(24)
    with db.write_transaction():
        db.connection.execute("DELETE FROM sessions WHERE expires_at < ?", [now("milliseconds")])
        until = now("milliseconds", plus=SESSION)
        db.connection.execute("INSERT INTO sessions VALUES (?, ?, ?)", [_hash(token), row["name"], until])
    return token


def authenticate(db: RatingsDB, token: str | None) -> RaterAccount | None:
    """The person of a session, or None: no such session, or it has run out. Every view asks this on the server.

    A session that is used lasts: it runs out that long after its last use, not after the login.
    """
    if not token:
        return None
    row = db.connection.execute(
        "SELECT p.*, s.expires_at FROM sessions s JOIN people p ON p.name = s.person WHERE s.token = ? "
        "AND s.expires_at > ?",
        [_hash(token), now("milliseconds")],
    ).fetchone()
    if row is not None and row["expires_at"] < now("milliseconds", plus=SESSION - _SLIDE):
        with suppress(StoreError), db.write_transaction():  # a full disk ends nobody's session
            until = now("milliseconds", plus=SESSION)
            db.connection.execute("UPDATE sessions SET expires_at = ? WHERE token = ?", [until, _hash(token)])
    return _person(row) if row else None


def log_out(db: RatingsDB, token: str) -> None:
    """End a session."""
    with db.write_transaction():
        db.connection.execute("DELETE FROM sessions WHERE token = ?", [_hash(token)])


def consent(db: RatingsDB, name: str, text: str = "") -> None:
    """Record that a person agreed to a consent text, with the text; the first time counts."""
    at = now("milliseconds")
    with db.write_transaction():
        db.connection.execute("UPDATE people SET consented_at = coalesce(consented_at, ?) WHERE name = ?", [at, name])
        db.connection.execute("INSERT OR IGNORE INTO consents VALUES (?, ?, ?, ?)", [name, digest([text]), text, at])


def consents(db: RatingsDB, name: str) -> dict[str, str]:
    """The texts that a person agreed to, with the time."""
    rows = db.connection.execute(
        "SELECT text, agreed_at FROM consents WHERE person = ? ORDER BY agreed_at, rowid", [name]
    )
    return {r["text"]: r["agreed_at"] for r in rows.fetchall()}


def delete_rater(db: RatingsDB, name: str) -> int:
    """Delete a person with all answers, assignments and sessions; returns the number of answers deleted.

    The file keeps no bytes of them. ``curation.store.backup.forget_person`` deletes what a store has.

    Raises:
        UserError: nobody is called so.
    """
    get_rater(db, name)
    db.connection.execute("PRAGMA secure_delete = ON")
    with db.write_transaction():
        count = db.connection.execute("DELETE FROM revisions WHERE person = ?", [name]).rowcount
        db.connection.execute("DELETE FROM decisions WHERE lead = ?", [name])
        db.connection.execute(
            "DELETE FROM links WHERE (local = ?1 AND substr(kind, 1, 5) <> 'task/') OR "
            "(substr(kind, 1, 5) = 'task/' AND substr(kind, -length(?1) - 1) = '/' || ?1)",
            [name],
        )
        for table in ("assignments", "sessions", "drafts", "consents", "skips", "preferences"):
            db.connection.execute(f"DELETE FROM {table} WHERE person = ?", [name])
        db.connection.execute("DELETE FROM people WHERE name = ?", [name])
    db.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return int(count)


def check_invitations(db: RatingsDB, names: Sequence[str]) -> None:
    """Refuse names that could not all be invited as raters, before the first one is.

    Raises:
        UserError: a name cannot stand in a verdict, is a program's, or belongs to a lead.
    """
    from curation.quality.sheets import check_people

    check_people(list(dict.fromkeys(names)))
    for name in names:
        if Rater.person(name).is_program:
            raise UserError(f"'{name}' is a program", allowed=f"names that do not begin with '{PROGRAM_PREFIX}'")
        known = _row(db, name)
        if known is not None and known["role"] != "rater":
            raise UserError(f"'{name}' is a {known['role']} already", where=str(db.path), fix="take another name")


def _row(db: RatingsDB, name: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None = db.connection.execute("SELECT * FROM people WHERE name = ?", [name]).fetchone()
    return row


def _person(row: sqlite3.Row) -> RaterAccount:
    return RaterAccount(row["name"], row["role"], bool(row["synthetic"]), row["consented_at"])
