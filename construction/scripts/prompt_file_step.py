"""Steps whose wording stands in a prompt file."""

from __future__ import annotations

from typing import Generic, TypeVar

from construction.llm.prompt_file import PromptFile
from construction.llm.step import PromptStep, Request

R = TypeVar("R")
W = TypeVar("W")
P = TypeVar("P", bound=PromptFile)


SAMPLES = 1000  # samples of one version: a raised version asks anew, and what version 1 asked keeps its journal keys


class PromptFileStep(PromptStep[R, W], Generic[R, W, P]):
    """A step with a prompt file; its name, version and sampling parameters come from there."""

    def __init__(self, prompt: P) -> None:
        self.wording, self.name, self.version = prompt, prompt.name, prompt.version

    def sample(self, item: R, *names: str, attempt: int) -> Request:
        """The request for one attempt at an item, seeded from the item's names where the wording asks for it.

        The sample number holds the prompt's version, so the same words under a higher version are asked again.
        """
        parameters = self.wording.sampling(*names, str(attempt))
        return self.request(item, parameters=parameters, sample=SAMPLES * (self.version - 1) + attempt)
