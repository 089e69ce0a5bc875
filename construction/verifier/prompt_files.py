"""The verifier's prompt files, ``verify_leak``, ``verify_depends`` and ``verify_cut``, each for a profile."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from construction.llm.prompt_file import PromptFile, PromptFolder


class VerifierPrompt(PromptFile):
    """One prompt file of the verifier.

    Attributes:
        shape: ``list`` for replies with several quotes and a reason, ``one`` for one short answer.
        reply_tokens: Tokens of a reply at most, where the parameters do not say. It is no part of a call's key, so
            replies on record stay good.
    """

    shape: Literal["list", "one"]
    reply_tokens: int | None = Field(default=None, ge=1)


FILES = PromptFolder(
    VerifierPrompt,
    package="construction.verifier",
    folder="prompts",
    tasks=("verify_leak", "verify_depends", "verify_cut"),
    reader="the verifier",
)


def load_verify(task: str, profile: str) -> VerifierPrompt:
    """The verifier's prompt file of a task (``leak``, ``depends``, ``cut``) in a profile.

    Raises:
        UserError: no such profile, or a broken file.
    """
    return FILES.load(f"verify_{task}", profile)
