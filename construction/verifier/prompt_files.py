"""The verifier's prompt files, ``verify_leak.PROFILE.toml`` and ``verify_depends.PROFILE.toml``."""

from __future__ import annotations

from typing import Literal

from construction.llm.prompt_file import PromptFile, PromptFolder


class VerifierPrompt(PromptFile):
    """One prompt file of the verifier.

    Attributes:
        shape: ``list`` for replies with several quotes and a reason, ``one`` for one short answer.
    """

    shape: Literal["list", "one"]


FILES = PromptFolder(
    VerifierPrompt,
    package="construction.prompts",
    folder="templates",
    tasks=("verify_leak", "verify_depends"),
    reader="the verifier",
)


def load_verify(task: str, profile: str) -> VerifierPrompt:
    """The verifier's prompt file of a task (``leak``, ``depends``) in a profile.

    Raises:
        UserError: no such profile, or a broken file.
    """
    return FILES.load(f"verify_{task}", profile)
