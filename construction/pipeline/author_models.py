"""Several author models: who writes the scripts, beside or instead of the model that writes the questions.

Every author writes for every question, so authors can be compared on the same questions. The author stands in the
lineage of each script (``model``) and in the journal key of each call; a script's key is made of its question and its
words, so scripts of two authors stand side by side, and a text that both wrote is one item with two authors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from construction.llm.cost.prices import how_to_add
from construction.llm.endpoint import KEYLESS, NAME_WITH_ADDRESS, Access
from curation.files.local_models import LOCAL, names_a_file
from curation.files.model_packages import EMBEDDED
from schemas.core.errors import UserError

_FORM = "NAME, NAME@ADDRESS or NAME@ADDRESS@KEY_VARIABLE"


class ScriptAuthor(NamedTuple):
    """An author, and the profile of prompts it is asked with."""

    access: Access
    profile: str


def profile_of(access: Access, capable: str) -> str:
    """The profile of prompts for a model: models that we know to be small have one of their own.

    Args:
        access: The model.
        capable: The profile of all others.
    """
    name = EMBEDDED if access.embedded else access.model if access.on_this_machine else ""
    return name if name in (EMBEDDED, LOCAL) else capable


def script_authors(named: Sequence[str], base: Access, profile: str, *, option: str = "--author") -> list[ScriptAuthor]:
    """The authors that ``--author`` names.

    A name alone is asked where ``--model`` is asked, with the same key. An author with an address of its own gets no
    key unless the variable that holds it is named, so that no endpoint is sent another one's key.

    Args:
        named: ``NAME``, ``NAME@ADDRESS`` or ``NAME@ADDRESS@KEY_VARIABLE``; ``embedded``, ``local``, ``gguf:PATH`` and
            ``hf:OWNER/REPOSITORY/FILE`` are models on this machine.
        base: How the model that writes the questions is asked; limits and budget hold for the authors, too.
        profile: The profile of a model that is not small.
        option: The option that names them, for errors.

    Raises:
        UserError: a name twice, no name, or a limit in dollars without the author's price.
    """
    authors = []
    for text in named:
        beside = NAME_WITH_ADDRESS.search(text)
        if beside and not beside["scheme"] and not names_a_file(text):
            fix = "write http:// or https:// before the address"
            raise UserError(f"{option} '{text}': '@' is followed by an address without its beginning", fix=fix)
        name, at_sign, rest = text.partition("@http")
        address, _, key = f"http{rest}".partition("@") if at_sign else ("", "", "")
        if not name.strip() or name.startswith(("http://", "https://")) or (at_sign and "://" not in address):
            raise UserError(f"{option} '{text}' names no model", allowed=_FORM)
        update: dict[str, Any] = {"model": name.strip()}
        if at_sign:
            update |= {"base_url": address, "key_name": key or KEYLESS}
        elif names_a_file(update["model"]):
            update |= {"base_url": None, "batch": False, "concurrency": None}
        if not names_a_file(update["model"]) or at_sign:
            update |= {"context": None, "threads": None}
        access = base.model_copy(update=update)
        authors.append(ScriptAuthor(access, profile_of(access, profile)))
    labels = [a.access.label for a in authors]
    twice = next((x for x in labels if labels.count(x) > 1), None)
    if twice is not None:
        raise UserError(f"--author names '{twice}' twice", fix="each author once; several scripts of one: --scripts 2")
    for author in authors:
        if base.max_cost is not None and author.access.price() is None:
            raise UserError("--max-cost needs the price of every author", fix=how_to_add(author.access.label))
    return authors


def verifier(named: str, base: Access, profile: str, *, option: str = "--verify") -> ScriptAuthor:
    """The model that ``--verify`` names, in the same words as ``--author``; there is no wording for small models."""
    return script_authors([named], base, profile, option=option)[0]._replace(profile=profile)
