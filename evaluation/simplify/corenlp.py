"""A running CoreNLP server asked for open information extraction."""

from __future__ import annotations

import http.client
import json
import urllib.parse
import urllib.request
from typing import Any

from evaluation.simplify.clauses import Clause
from schemas.core.errors import UserError

SECONDS = 60
ANNOTATORS = "tokenize,pos,lemma,depparse,natlog,openie"


def ask_server(address: str, text: str, *, threshold: float) -> list[Clause]:
    """The server's statements of a text.

    Args:
        address: Such as ``http://localhost:9000``.
        text: The document.
        threshold: Least confidence.

    Raises:
        UserError: it does not answer, or not as CoreNLP does.
    """
    settings = {"annotators": ANNOTATORS, "outputFormat": "json", "openie.affinity_probability_cap": str(threshold)}
    if not address.startswith(("http://", "https://")):
        raise UserError("the address of a CoreNLP server begins with http:// or https://", where=f"server: {address}")
    url = f"{address.rstrip('/')}/?{urllib.parse.urlencode({'properties': json.dumps(settings)})}"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, text.encode()), timeout=SECONDS) as reply:
            return read_reply(json.load(reply))
    except (OSError, http.client.HTTPException) as error:  # not there, too slow, or gone in the middle of its reply
        reason = getattr(error, "reason", None) or error or type(error).__name__
        fix = "start one, or leave server out to use spaCy"
        raise UserError(f"the CoreNLP server does not answer: {reason}", where=address, fix=fix) from None
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"the server's reply is not that of CoreNLP: {error}", where=address) from None


def read_reply(reply: Any) -> list[Clause]:
    """The statements of a reply, each once."""
    rows = [row for sentence in reply["sentences"] for row in sentence["openie"]]
    return list(dict.fromkeys(Clause(row["subject"], row["relation"], row["object"]) for row in rows))
