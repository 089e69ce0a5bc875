"""The verifier's prompt files: ``verify_leak``, ``verify_depends``, ``verify_cut`` and ``verify_next``."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from pydantic import Field

from construction.llm.prompt_file import PromptFile, read_prompt


class VerifierPrompt(PromptFile):
    """One prompt file of the verifier.

    Attributes:
        reply_tokens: Tokens of a reply at most, for each text that is read, where the parameters do not say. It is no
            part of a call's key, so replies on record stay good.
    """

    reply_tokens: int = Field(ge=1)


def verify_file(task: str) -> Path:
    """The file of a task: ``leak``, ``depends``, ``cut`` or ``next``."""
    return Path(str(files("construction.verifier").joinpath("prompts", f"verify_{task}.toml")))


def load_verify(task: str) -> VerifierPrompt:
    """The prompt of a task.

    Raises:
        UserError: a broken file.
    """
    return read_prompt(VerifierPrompt, verify_file(task))
