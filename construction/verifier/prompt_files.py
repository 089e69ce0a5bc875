"""The verifier's prompt files, ``verify_leak``, ``verify_depends`` and ``verify_cut``, each for a profile."""

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
    tasks=("verify_leak", "verify_depends", "verify_cut"),
    reader="the verifier",
)


def load_verify(task: str, profile: str) -> VerifierPrompt:
    """The verifier's prompt file of a task (``leak``, ``depends``, ``cut``) in a profile.

    Raises:
        UserError: no such profile, or a broken file.
    """
    return FILES.load(f"verify_{task}", profile)
