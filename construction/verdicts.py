"""What verdicts come to, for showing and for not writing scripts of dropped questions; a split has its own rule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from schemas.verdicts import Verdict

Standing = Literal["keep", "unsure", "drop"]


def standing(verdicts: Iterable[Verdict]) -> Standing:
    """``drop`` where any verdict says so, else ``unsure`` where any is unsure or unscored, else ``keep``.

    Example:
        >>> standing([])
        'keep'
    """
    labels = {v.label for v in verdicts}
    if "drop" in labels:
        return "drop"
    return "unsure" if labels & {"unsure", "unscored"} else "keep"
