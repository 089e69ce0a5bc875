"""A question for the tests of prompts."""

from __future__ import annotations

from schemas.scripts import ScriptQuestion

QUESTION = ScriptQuestion(key="f/Peru/q-1", fact="f/Peru", text="How to visit Peru?")
