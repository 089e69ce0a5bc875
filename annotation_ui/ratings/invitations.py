"""Invitations by link, for crowd services: a link a person, and who the service says that person is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, urlencode, urlsplit

from annotation_ui.ratings import raters
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.preferences import IDENTITY as KEPT_IDENTITY
from annotation_ui.ratings.preferences import keep_preference, read_preferences
from schemas.core.errors import UserError
from schemas.text.escaping import escape_line

INVITATION = "invitation"
"""The parameter of a link that holds the personal secret."""
IDENTITY = tuple(name.removeprefix("identity/") for name in KEPT_IDENTITY)
"""Parameters by which Prolific and Mechanical Turk say who opens a link; others are not read."""
PARTICIPANT = ("PROLIFIC_PID", "workerId")
"""Those that name the person; the others name the study or the visit."""
_VALUE = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_KEPT = "identity/"


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
    token = raters.log_in(db, parameters.get(INVITATION, ""))
    person = raters.authenticate(db, token) if token else None
    if token is None or person is None:
        return LinkLogin(refused="link_refused")
    known = identity_of(db, person.name)
    if any(k in known and k in identity and known[k] != identity[k] for k in PARTICIPANT):
        raters.log_out(db, token)
        return LinkLogin(refused="link_taken")
    if any(_is_another_s(db, person.name, k, identity[k]) for k in PARTICIPANT if k in identity):
        raters.log_out(db, token)
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


LONGEST = 2000  # characters; browsers and servers cut longer ones


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
    if len(url) > LONGEST or not url.isprintable() or any(c.isspace() for c in url):
        return None
    try:
        parts = urlsplit(url)
        known = parts.port is None or parts.port > 0
    except ValueError:
        return None
    return parts if known and parts.scheme in schemes and parts.hostname and "@" not in parts.netloc else None
