"""What a rule check may look at, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from schemas.facts import Fact, Neighbour
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion

Stage = Literal["fact", "reply", "question", "draft", "script", "prompt", "neighbour"]
"""What a check looks at; the stages come in this order. All but ``reply`` and ``draft`` are kinds of stored items."""


@dataclass(frozen=True, kw_only=True)
class CheckInputs:
    """What a check may look at; each stage fills in more.

    Attributes:
        fact: The fact that question, script and prompt are about.
        facts: Other facts of the same subject and relation, at stage ``fact``; None where they are not known.
        question: From stage ``question`` on.
        questions: Questions of the fact that came before this one, at stage ``question``; None where they are not
            known, and then no check compares them.
        draft: Steps as the model wrote them, at stage ``draft``.
        script: From stage ``script`` on.
        prompt: From stage ``prompt`` on; None at stage ``script``, where it may turn out that there is nothing to cut.
        edit: The edited fact, at stage ``neighbour``, where ``fact`` is the neighbour fact.
        link: The link between the two, at stage ``neighbour``.
        failure: Why no usable reply came, at stage ``reply``.
    """

    fact: Fact
    facts: tuple[Fact, ...] | None = None
    question: ScriptQuestion | None = None
    questions: tuple[ScriptQuestion, ...] | None = None
    draft: tuple[str, ...] = ()
    script: Script | None = None
    prompt: ScriptPrompt | None = None
    edit: Fact | None = None
    link: Neighbour | None = None
    failure: str = ""
