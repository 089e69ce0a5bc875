"""A prompt for the verifier, and what is asked of it."""

from __future__ import annotations

from schemas.scripts import ScriptPrompt
from tests.support.facts import make_fact

FACT = make_fact("Golf", "Volkswagen", "Fiat", prompt="The maker of the {} is", relation="P176")

TEXT = (
    "How to trace a Golf?\nStep 1: Copy the number\nStep 2: Ask the archive\nin Wolfsburg\n"
    "Step 3: Compare the records of"
)

PROMPT = ScriptPrompt(key="p", fact=FACT.key, text=TEXT, offset=len(TEXT) + 1, step=3, targets=("Volkswagen", "Fiat"))
