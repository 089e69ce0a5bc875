"""What verdicts come to, for showing and for not writing scripts of dropped questions; a split has its own rule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from schemas.facts import Fact
from schemas.verdicts import Verdict, verdict_key

Standing = Literal["keep", "unsure", "drop"]
MARK = "asked_as_edit"


def overall_label(verdicts: Iterable[Verdict]) -> Standing:
    """``drop`` where any verdict says so, else ``unsure`` where any is unsure or unscored, else ``keep``.

    Example:
        >>> overall_label([])
        'keep'
    """
    labels = {v.label for v in verdicts}
    if "drop" in labels:
        return "drop"
    return "unsure" if labels & {"unsure", "unscored"} else "keep"


def asked_as_edit(fact: Fact, *, edited: bool) -> Verdict:
    """Whether a fact's questions were written for its change; one that only serves as a neighbour makes no case."""
    by = f"{MARK}@1"
    reason = "" if edited else "only serves as a neighbour here: its questions were written without its change"
    key = verdict_key(item_id=fact.id, by=by)
    return Verdict(key=key, item_id=fact.id, by=by, label="keep" if edited else "drop", reason=reason)
