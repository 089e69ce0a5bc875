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
        counts: Edits looked at (``facts``, ``events`` or ``documents``), and how many items were left out for which
            reason, where that is known.
    """
    what = f"the split '{name}' would have no case"
    if counts is not None:
        kind = next((one for one in ("event", "document") if f"{one}s" in counts), "fact")
        reasons = sorted(
            ((n, why) for why, n in counts.items() if n and why not in ("cases", f"{kind}s")), reverse=True
        )
        reason_text = "; ".join(f"{why}: {n:,}" for n, why in reasons[:_REASONS])
        edits = f"{counted(counts.get(f'{kind}s', 0), kind)}{' to edit' if kind == 'fact' else ''} in the rule's scope"
        what += f" ({edits}{f'; {reason_text}' if reason_text else ''})"
    return UserError(what, fix="loosen its rule, or see why: scedit store stats")
