"""The judge's prompt files: one TOML file for each aspect and profile, with a name and a version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import model_validator

from construction.llm.prompt_file import PromptFile, PromptFolder
from construction.llm.prompt_text import places
from schemas.ratings import SCRIPT, Aspect

ASPECTS: tuple[Aspect, ...] = SCRIPT.aspects
_FACT = frozenset({"question", "prompt", "old", "new", "text"})
INPUTS: Mapping[Aspect, frozenset[str]] = {
    "executability": frozenset({"text"}),
    "coherence": _FACT,
    "consistency": _FACT,
    "completeness": _FACT | {"counts"},
}
"""What the judge is shown of each aspect, exactly (ScEdit Figures 8 to 11)."""

ReplyShape = Literal["paper", "evidence", "rating"]


class JudgePromptFile(PromptFile):
    """One prompt file of the judge (``ASPECT.PROFILE.toml``).

    Attributes:
        aspect: What is rated; ``name`` is ``judge_ASPECT_PROFILE``, as ratings name their form.
        shape: ``paper`` (rating, then one sentence), ``evidence`` (quotes, then the rating), ``rating`` (alone).
    """

    aspect: Aspect
    shape: ReplyShape

    @model_validator(mode="after")
    def _inputs(self) -> JudgePromptFile:
        if self.aspect not in INPUTS:
            raise ValueError(f"aspect: scripts are not rated on '{self.aspect}': {', '.join(INPUTS)}")
        shown, wanted = places(self.user), INPUTS[self.aspect]
        if shown != wanted:
            raise ValueError(f"user: shows {sorted(shown)}, a judge of {self.aspect} sees exactly {sorted(wanted)}")
        return self


FILES = PromptFolder(JudgePromptFile, package="evaluation.judge", folder="prompts", tasks=ASPECTS, reader="the judge")


def profiles() -> list[str]:
    """Profiles that have a prompt for every aspect."""
    return FILES.profiles()


def load_prompt_file(aspect: Aspect, profile: str) -> JudgePromptFile:
    """The prompt of an aspect in a profile.

    Raises:
        UserError: no such profile, or a broken file.

    Example:
        >>> load_prompt_file("coherence", "paper").name
        'judge_coherence_paper'
    """
    return FILES.load(aspect, profile)
