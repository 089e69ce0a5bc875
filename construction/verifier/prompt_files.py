"""The verifier's prompt files. How a text is shown to the model: ``construction.llm.prompt_text``."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from construction.llm.prompt_text import LONGEST, Example, fenced, quoted
from schemas.core.config import Options, read_toml, validate
from schemas.core.errors import UserError
from schemas.core.registry import suggest

__all__ = ["LONGEST", "VerifyWording", "fenced", "load_verify", "quoted"]


class VerifyWording(Options):
    """One prompt file of the verifier (``verify_leak.PROFILE.toml``, ``verify_depends.PROFILE.toml``).

    Attributes:
        shape: ``list`` for replies with several quotes and a reason, ``one`` for one short answer.
        seeded: Send a seed drawn from the item, so that the same machine gives the same reply.
        quality: What to call the verdicts; ``plumbing`` shows that the road works and is no evidence.
    """

    name: str
    version: int = Field(ge=1)
    shape: Literal["list", "one"]
    seeded: bool = False
    quality: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    system: str
    user: str
    examples: tuple[Example, ...] = ()


def load_verify(task: str, profile: str) -> VerifyWording:
    """The verifier's prompt file of a task (``leak``, ``depends``) in a profile.

    Raises:
        UserError: no such profile, or a broken file.
    """
    folder = Path(str(files("construction.prompts").joinpath("templates")))
    known = sorted(p.name.split(".")[1] for p in folder.glob(f"verify_{task}.*.toml"))
    if profile not in known:
        near = suggest(profile, known)
        fix = f"did you mean '{near}'?" if near else None
        raise UserError(f"the verifier has no profile '{profile}'", allowed=", ".join(known), fix=fix)
    path = folder / f"verify_{task}.{profile}.toml"
    return validate(VerifyWording, read_toml(path), where=str(path))
