"""The prompt files of the construction of probes. How prompt files work: ``construction.llm.prompt_file``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import model_validator

from construction.llm.prompt_file import ProfilePrompt, PromptFolder
from construction.llm.prompt_text import refuse_unknown_places, require_places

TASKS: Mapping[str, frozenset[str]] = {
    "write_probes": frozenset({"document", "fewest", "most"}),
    "answer_probe": frozenset({"document", "query"}),
}


class ProbePrompt(ProfilePrompt):
    """One prompt file.

    Attributes:
        task: ``write_probes``, or ``answer_probe`` for the reader.
    """

    task: Literal["write_probes", "answer_probe"]

    @model_validator(mode="after")
    def _placeholders(self) -> ProbePrompt:
        refuse_unknown_places({"system": self.system, "user": self.user}, TASKS[self.task])
        require_places("user or system", f"{self.user}\n{self.system}", TASKS[self.task])
        return self


class ProbePrompts(NamedTuple):
    """The prompts of one construction."""

    write_probes: ProbePrompt
    answer_probe: ProbePrompt


FILES = PromptFolder(
    ProbePrompt,
    package="construction.documents",
    folder="prompts",
    tasks=tuple(TASKS),
    reader="the construction of probes",
)


def load_probe_prompts(profile: str, folder: Path | None = None) -> ProbePrompts:
    """The prompts of a profile, replaced by what a folder of the user's own holds: ``TASK.toml``.

    Raises:
        UserError: no such profile or folder, or a broken file.
    """
    return ProbePrompts(**FILES.load_all(profile, folder))
