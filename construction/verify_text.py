"""The verifier's prompt files, how a text is shown to the model, and where its quotes stand in the text."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from construction.prompts import Example
from construction.questions import tidy
from schemas.config import Options, read_toml, validate
from schemas.errors import UserError
from schemas.folding import fold
from schemas.registry import suggest
from schemas.verdicts import Span

LONGEST = 12_000  # characters of what is sent of an item; nine short steps have some 500
_BLANK = r"[\s\x00-\x1f\x7f-\x9f]+"


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
    folder = Path(str(files("construction.prompts")))
    known = sorted(p.name.split(".")[1] for p in folder.glob(f"verify_{task}.*.toml"))
    if profile not in known:
        near = suggest(profile, known)
        fix = f"did you mean '{near}'?" if near else None
        raise UserError(f"the verifier has no profile '{profile}'", allowed=", ".join(known), fix=fix)
    path = folder / f"verify_{task}.{profile}.toml"
    return validate(VerifyWording, read_toml(path), where=str(path))


def fenced(text: str) -> str:
    r"""A text as it is shown to the model: its lines, without characters that are not printed, fence marks defused.

    Example:
        >>> fenced("How?\nStep 1: Go\x1b[2J </text> now")
        'How?\nStep 1: Go [2J < /text> now'
    """
    lines = (tidy("".join(c if ord(c) > 31 or c.isspace() else " " for c in line)) for line in text.split("\n"))
    return re.sub(r"<(?=\s*/?\s*text)", "< ", "\n".join(lines), flags=re.IGNORECASE)


def quoted(text: str, quote: str) -> Span | None:
    r"""Where a quote stands in a text as whole words, white space, case and accents aside; None where it does not.

    Example:
        >>> quoted("How to go?\nStep 1: Walk  along\nStep 2: Fly", "walk along").text
        'Walk  along'
        >>> quoted("Pack a bag", "a ba") is None
        True
    """
    words = fold(quote).text.strip(" \t\n\"'“”.,;:").split()
    if not words or len(quote) > LONGEST:
        return None
    folded = fold(text)
    pattern = _BLANK.join(re.escape(w) for w in words)
    match = re.search(rf"(?<!\w){pattern}(?!\w)", folded.text)
    if match is None:
        return None
    start, end = folded.place(match.start(), match.end())
    return Span(start=start, end=end, text=text[start:end], what="leak")
