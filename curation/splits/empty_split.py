"""What is said where a split would hold no case, with the reasons for which items were left out."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.core.errors import UserError
from schemas.text.counting import counted

_REASONS = 8  # that are named


def no_case(name: str, counts: Mapping[str, int] | None = None) -> UserError:
    """The one sentence for a split without a case.

    Args:
        name: The split's name.
        counts: Facts looked at (``facts``), and how many items were left out for which reason, where that is known.
    """
    what = f"the split '{name}' would have no case"
    if counts is not None:
        reasons = sorted(((n, why) for why, n in counts.items() if n and why not in ("cases", "facts")), reverse=True)
        reason_text = "; ".join(f"{why}: {n:,}" for n, why in reasons[:_REASONS])
        facts = f"{counted(counts.get('facts', 0), 'fact')} to edit in the rule's scope"
        what += f" ({facts}{f'; {reason_text}' if reason_text else ''})"
    return UserError(what, fix="loosen its rule, or see why: scedit store stats")
