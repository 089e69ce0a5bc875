"""The judge's prompt files: one TOML file for each aspect and profile, with a name and a version."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field, model_validator

from construction.llm.prompt_text import Example, places
from schemas.core.config import Options, read_toml, validate
from schemas.core.errors import UserError
from schemas.core.registry import suggest
from schemas.ratings import Aspect

ASPECTS: tuple[Aspect, ...] = get_args(Aspect)
_FACT = frozenset({"question", "prompt", "old", "new", "text"})
INPUTS: Mapping[Aspect, frozenset[str]] = {
    "executability": frozenset({"text"}),
    "coherence": _FACT,
    "consistency": _FACT,
    "completeness": _FACT | {"counts"},
}
"""What the judge is shown of each aspect, exactly (ScEdit Figures 8 to 11)."""

Shape = Literal["paper", "evidence", "rating"]


class JudgeWording(Options):
    """One prompt file of the judge (``ASPECT.PROFILE.toml``).

    Attributes:
        name: ``judge_ASPECT_PROFILE``, as ratings name their form.
        version: A changed wording gets a higher one.
        shape: ``paper`` (rating, then one sentence), ``evidence`` (quotes, then the rating), ``rating`` (alone).
        seeded: Send a seed drawn from the item, so that the same machine gives the same reply.
        quality: What to call the ratings; ``plumbing`` shows that the road works and is no evidence.
        parameters: Sampling parameters as the endpoint takes them.
        user: The item; it shows exactly the inputs of the aspect.
    """

    name: str
    version: int = Field(ge=1)
    aspect: Aspect
    shape: Shape
    seeded: bool = False
    quality: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    system: str
    user: str
    examples: tuple[Example, ...] = ()

    @model_validator(mode="after")
    def _inputs(self) -> JudgeWording:
        shown, wanted = places(self.user), INPUTS[self.aspect]
        if shown != wanted:
            raise ValueError(f"user: shows {sorted(shown)}, a judge of {self.aspect} sees exactly {sorted(wanted)}")
        return self


def profiles() -> list[str]:
    """Profiles that have a prompt for every aspect."""
    names = [path.name for path in _folder().glob("*.toml")]
    found = {name.split(".")[1] for name in names}
    return sorted(p for p in found if all(f"{aspect}.{p}.toml" in names for aspect in ASPECTS))


def load_wording(aspect: Aspect, profile: str) -> JudgeWording:
    """The prompt of an aspect in a profile.

    Raises:
        UserError: no such profile, or a broken file.

    Example:
        >>> load_wording("coherence", "paper").name
        'judge_coherence_paper'
    """
    known = profiles()
    if profile not in known:
        near = suggest(profile, known)
        fix = f"did you mean '{near}'?" if near else None
        raise UserError(f"the judge has no profile '{profile}'", allowed=", ".join(known), fix=fix)
    path = _folder() / f"{aspect}.{profile}.toml"
    return validate(JudgeWording, read_toml(path), where=str(path))


def _folder() -> Path:
    return Path(str(files("evaluation.judge").joinpath("prompts")))
