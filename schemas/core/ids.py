"""Identities: canonical JSON, content hashes, digests of many, seeds drawn from names.

A record has two identities. Its ``key`` says which thing it is and stays when the text is corrected; its ``id`` is a
hash of its content and changes with every letter. Verdicts point at ids (a judgement holds for the text that was
judged), parents are named by key (a question belongs to its fact, whatever alias was added since).
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

ID_LENGTH = 20


def canonical_json(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no spaces, NFC strings are left as they are.

    Example:
        >>> canonical_json({"b": 1, "a": "é"})
        '{"a":"é","b":1}'
    """
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def content_id(kind: str, payload: Any) -> str:
    """Hash of a record's kind and content: 20 hexadecimal digits (80 bits).

    Example:
        >>> content_id("fact", {"a": 1}) == content_id("fact", {"a": 1})
        True
    """
    return text_id(kind, canonical_json(payload))


def text_id(kind: str, canonical: str) -> str:
    """The same of a payload's canonical JSON text."""
    text = f"{kind}\n{canonical}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:ID_LENGTH]


def digest(parts: Iterable[str]) -> str:
    """SHA-256 (64 hexadecimal digits) over strings in the given order, each ended by a newline."""
    h = hashlib.sha256()
    for part in parts:
        h.update(part.encode("utf-8", "surrogatepass"))
        h.update(b"\n")
    return h.hexdigest()


def seed(*parts: str) -> int:
    """A 63-bit seed drawn from names, such as (split digest, case key, purpose): equal for every method and order.

    Example:
        >>> seed("split", "case-1", "order") == seed("split", "case-1", "order")
        True
    """
    return int(digest(parts)[:16], 16) >> 1


def slug(text: str, *, length: int = 48) -> str:
    """A readable piece of a key: lower case, digits and hyphens; other scripts keep their letters.

    Example:
        >>> slug("Côte d'Ivoire")
        'cote-d-ivoire'
    """
    plain = unicodedata.normalize("NFKD", text)
    plain = "".join(c for c in plain if not unicodedata.combining(c)).casefold()
    return re.sub(r"[^\w]+", "-", plain).strip("-_")[:length].rstrip("-") or "x"
