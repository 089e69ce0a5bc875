"""What tasks read out of a store: edited facts with their prompts, questions, generated scripts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from schemas.facts import Fact
from schemas.scripts import ScriptPrompt, ScriptQuestion

if TYPE_CHECKING:
    from curation.store.store import Store


def edited_prompts(store: Store) -> Iterator[tuple[Fact, ScriptPrompt]]:
    """The script prompts of facts that are to be edited, with their facts, in order of keys."""
    facts: dict[str, Fact] = {}
    for prompt in store.all(ScriptPrompt):
        if prompt.fact not in facts:
            fact = store.get(prompt.fact)
            assert isinstance(fact, Fact)
            facts = {prompt.fact: fact}  # prompts come in order of keys: one fact at a time is enough
        if facts[prompt.fact].new is not None:
            yield facts[prompt.fact], prompt


def question_of(store: Store, prompt: ScriptPrompt) -> str:
    """The text of a prompt's script question; the first line of the prompt where none is published."""
    if prompt.question is not None:
        question = store.get(prompt.question)
        if isinstance(question, ScriptQuestion):
            return question.text
    return prompt.text.split("\n", 1)[0]


def edit_text(fact: Fact) -> str:
    """The edit as people read it.

    Example:
        >>> from schemas.facts import Entity, Object, Relation, Source
        >>> fact = Fact(key="f/1", subject=Entity(text="Peru"), relation=Relation(id="P36"), old=Object(text="Lima"),
        ...             prompt="The capital of {} is", new=Object(text="Oslo"), source=Source(name="me", licence="CC0"))
        >>> edit_text(fact)
        'The capital of Peru is: Lima → Oslo'
    """
    return f"{fact.fact_prompt}: {fact.old.text} → {fact.new.text if fact.new else fact.old.text}"
