"""Who takes part: pseudonyms, roles, secrets (kept hashed), sessions, consent, choices, personal links, deletion."""

from __future__ import annotations

import hashlib
import re
import secrets
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Literal, NamedTuple
from urllib.parse import SplitResult, urlencode, urlsplit

from annotation_ui.ratings.database import RatingsDB
from schemas.core.clock import now
from schemas.core.errors import StoreError, UserError
from schemas.core.ids import digest
from schemas.raters import PROGRAM_PREFIX, Rater
from schemas.text.escaping import escape_line
from schemas.text.spreadsheet_cells import safe_cell

IDENTITY = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID", "workerId", "assignmentId", "hitId")
"""Parameters by which Prolific and Mechanical Turk say who opens a link; others are not read."""
PARTICIPANT = ("PROLIFIC_PID", "workerId")
"""Those that name the person; the others name the study or the visit."""
INVITATION = "invitation"
"""The parameter of a link that holds the personal secret."""
_VALUE = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_KEPT = "identity/"
_LONGEST_ADDRESS = 2000  # characters; browsers and servers cut longer ones


def keep_preference(db: RatingsDB, person: str, name: str, value: str) -> None:
    """Keep a choice for the look of the app, or who a crowd service says a person is, in place of the earlier one.

    Raises:
        StoreError: the file cannot be written.
    """
    with db.write_transaction() as file:
        file.execute("INSERT OR REPLACE INTO preferences VALUES (?, ?, ?)", [person, name, value])


def read_preferences(db: RatingsDB, person: str) -> dict[str, str]:
    """All choices of a person."""
    rows = db.connection.execute("SELECT name, value FROM preferences WHERE person = ?", [person])
    return {r["name"]: r["value"] for r in rows.fetchall()}


Role = Literal["rater", "lead"]
SESSION = timedelta(hours=12)
_SLIDE = timedelta(minutes=5)  # a session is prolonged at most so often


class RaterAccount(NamedTuple):
    """A person, under a pseudonym. ``synthetic``: a program, whose answers are labelled as such wherever they go."""

    name: str
    role: Role
    synthetic: bool


def _hash(secret: str) -> str:
    """Secrets are 144 random bits that we draw ourselves, so one round of SHA-256 is as hard to turn back as any."""
    return hashlib.sha256(f"scedit {secret}".encode(errors="surrogatepass")).hexdigest()


def invite(db: RatingsDB, name: str, *, role: Role = "rater", synthetic: bool = False) -> str:
    """Add a person, or give a known one a new secret (the old one and its sessions end); returns the secret.

    The secret is told here once and cannot be read back.

    Raises:
        UserError: the name cannot stand in a verdict, or the person has another role.
    """
    check_name(name)
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
            "INSERT INTO people VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET secret = ?3",
            [name, role, _hash(secret), int(synthetic), now("milliseconds")],
        )
        db.connection.execute("DELETE FROM sessions WHERE person = ?", [name])
    return secret


def check_name(name: str) -> None:
    """Refuse a name that cannot stand in verdicts.

    Raises:
        UserError: it is empty, holds a space, slash or control character, or begins with a sign.
    """
    if not name or any(c.isspace() or c == "/" for c in name) or name != safe_cell(name):
        allowed = "a name without spaces, slashes and control characters that begins with a letter or digit"
        raise UserError(f"'{escape_line(name)}' cannot be a person's name here", allowed=allowed)


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


def _row(db: RatingsDB, name: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None = db.connection.execute("SELECT * FROM people WHERE name = ?", [name]).fetchone()
    return row


def _person(row: sqlite3.Row) -> RaterAccount:
    return RaterAccount(row["name"], row["role"], bool(row["synthetic"]))


class LinkLogin(NamedTuple):
    """What a link led to: a session, or the name of the interface's text that says why not."""

    token: str = ""
    refused: str = ""


def invitation_link(url: str, secret: str) -> str:
    """The link of one person.

    Example:
        >>> invitation_link("https://rate.example.org/", "s3cret")
        'https://rate.example.org/?invitation=s3cret'

    Raises:
        UserError: the address is none of a web server, or has a query of its own.
    """
    parts = web_address(url, "http", "https")
    if parts is None or any(c in url for c in "?#"):
        raise UserError(
            f"'{escape_line(url[:80])}' is no address of the rating app",
            where="--app-url",
            allowed="https://HOST/, without ? and #",
        )
    return f"{url.rstrip('/')}/?{urlencode({INVITATION: secret})}"


def log_in_by_link(db: RatingsDB, parameters: Mapping[str, str]) -> LinkLogin:
    """Begin a session for the owner of a link, and keep who the service says that is.

    A link belongs to the participant who opened it first: another one is refused, and so is a second link of one
    participant, who would count as two raters. Parameters that are not known are not read; values that a service would
    not send are refused, and nothing is kept of them.

    Args:
        db: The ratings file.
        parameters: Of the address.

    Raises:
        StoreError: the file cannot be written.
    """
    identity = {k: v for k in IDENTITY if (v := parameters.get(k, ""))}
    if any(not _VALUE.fullmatch(v) for v in identity.values()):
        return LinkLogin(refused="link_identity")
    token = log_in(db, parameters.get(INVITATION, ""))
    person = authenticate(db, token) if token else None
    if token is None or person is None:
        return LinkLogin(refused="link_refused")
    known = identity_of(db, person.name)
    if any(k in known and k in identity and known[k] != identity[k] for k in PARTICIPANT):
        log_out(db, token)
        return LinkLogin(refused="link_taken")
    if any(_is_another_s(db, person.name, k, identity[k]) for k in PARTICIPANT if k in identity):
        log_out(db, token)
        return LinkLogin(refused="link_second")
    for name, value in identity.items():
        if known.get(name) != value:
            keep_preference(db, person.name, _KEPT + name, value)
    return LinkLogin(token=token)


def _is_another_s(db: RatingsDB, person: str, name: str, value: str) -> bool:
    """Whether a participant is known under another pseudonym."""
    sql = "SELECT 1 FROM preferences WHERE name = ? AND value = ? AND person <> ?"
    return db.connection.execute(sql, [_KEPT + name, value, person]).fetchone() is not None


def identity_of(db: RatingsDB, person: str) -> dict[str, str]:
    """Who a crowd service says a person is, by parameter; empty where no service said so."""
    preferences = read_preferences(db, person)
    return {k.removeprefix(_KEPT): v for k, v in sorted(preferences.items()) if k.startswith(_KEPT)}


def web_address(url: str, *schemes: str) -> SplitResult | None:
    """The parts of an address of a web server; None where it is none: no host, a user, spaces, another scheme.

    Args:
        url: As it was typed.
        schemes: Those that are allowed.

    Example:
        >>> web_address("https://rate.example.org/", "https").hostname
        'rate.example.org'
        >>> web_address("javascript:alert(1)", "https") is web_address("https://[", "https") is None
        True
    """
    if len(url) > _LONGEST_ADDRESS or not url.isprintable() or any(c.isspace() for c in url):
        return None
    try:
        parts = urlsplit(url)
        known = parts.port is None or parts.port > 0
    except ValueError:
        return None
    return parts if known and parts.scheme in schemes and parts.hostname and "@" not in parts.netloc else None
