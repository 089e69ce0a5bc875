"""A prompt for the verifier, and what is asked of it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from schemas.scripts import ScriptPrompt
from tests.support.facts import make_fact

FACT = make_fact("Golf", "Volkswagen", "Fiat", prompt="The maker of the {} is", relation="P176")

TEXT = (
    "How to trace a Golf?\nStep 1: Copy the number\nStep 2: Ask the archive\nin Wolfsburg\n"
    "Step 3: Compare the records of"
)

PROMPT = ScriptPrompt(key="p", fact=FACT.key, text=TEXT, offset=len(TEXT) + 1, step=3, targets=("Volkswagen", "Fiat"))

KNOWN = {"Japan": "Tokyo", "": "Lima"}
"""Subject to object, as far as a reader knows; everything else has to do with Peru."""


def readings(payload: dict[str, Any], *, bad: str = "", known: Mapping[str, str] = KNOWN) -> str:
    """The verifier's reply about every text: nothing is wrong, except that a text with ``bad`` in it leaks.

    A reader who is not told the fact continues with the object that ``known`` has for a subject in the text.
    """
    system, shown = payload["messages"][0]["content"], payload["messages"][-1]["content"]
    rows, texts = [], re.findall(r"<text>\n(.*?)\n</text>", shown, re.DOTALL)
    for n, text in enumerate(texts, 1):
        wrong = bool(bad) and bad in text
        if '"asked"' in system:
            rows.append({"n": n, "why": "x", "asked": "yes", "needed": "yes"})
        elif "quotes" in system:
            quotes = ["a friend"] if wrong else []
            rows.append({"n": n, "why": "x", "needed": "yes", "same": "yes", "quotes": quotes})
        else:
            rows.append({"n": n, "next": next((old for subject, old in known.items() if subject in text), "?")})
    return json.dumps({"readings": rows})
