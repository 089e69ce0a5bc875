"""The inputs of a rule check looked up in a store, by the kind of its items.

Construction judges what it writes as it writes it. What came into a store in another way (an import, an older version
of a check) is judged by ``scedit store check`` with the same checks: this is where they find what they look at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from construction.checks.inputs import CheckInputs
from schemas.core.records import Record
from schemas.facts import Fact, Neighbour
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion

if TYPE_CHECKING:
    from curation.checks.store_checks import CheckContext

ItemInputs = Iterator[tuple[Record, CheckInputs]]


def store_inputs(kind: str, items: Sequence[Record], around: CheckContext) -> ItemInputs:
    """Items with what a check looks at; an item whose fact or question is not in the store is left out.

    Args:
        kind: Kind of all items: ``fact``, ``question``, ``script``, ``prompt`` or ``neighbour``.
        items: Current items of the store.
        around: The store, and its facts by key.

    Returns:
        One pair an item; a neighbour link comes once for each prompt of the neighbour.
    """
    return _LOOKUPS[kind](items, around)


def _facts(items: Sequence[Record], around: CheckContext) -> ItemInputs:
    """Facts; temporal ones with the other temporal facts of their subject and relation."""
    groups: dict[tuple[str, str], list[Fact]] = defaultdict(list)
    for fact in around.facts.values():
        if fact.change == "temporal":
            groups[fact.subject.text.casefold(), fact.relation.id].append(fact)
    for item in items:
        fact = around.facts[item.key]
        group = groups.get((fact.subject.text.casefold(), fact.relation.id), [])
        yield item, CheckInputs(fact=fact, facts=tuple(f for f in group if f.key != fact.key))


def _questions(items: Sequence[Record], around: CheckContext) -> ItemInputs:
    """Questions with their facts, and those of the same fact that come before them by key."""
    questions = [q for q in items if isinstance(q, ScriptQuestion) and q.fact in around.facts]
    siblings: dict[str, list[ScriptQuestion]] = defaultdict(list)
    for sibling in around.store.of_parents(ScriptQuestion, {q.fact for q in questions}):
        siblings[sibling.fact].append(sibling)
    for question in questions:
        earlier = tuple(q for q in siblings[question.fact] if q.key < question.key)
        yield question, CheckInputs(fact=around.facts[question.fact], question=question, questions=earlier)


def _scripts(items: Sequence[Record], around: CheckContext) -> ItemInputs:
    """Scripts with their questions and facts."""
    scripts = [s for s in items if isinstance(s, Script)]
    questions = {q.key: q for q in around.store.by_keys(ScriptQuestion, {s.question for s in scripts})}
    for script in scripts:
        question = questions.get(script.question)
        if question is not None and question.fact in around.facts:
            yield script, CheckInputs(fact=around.facts[question.fact], question=question, script=script)


def _prompts(items: Sequence[Record], around: CheckContext) -> ItemInputs:
    """Prompts with their facts."""
    for prompt in items:
        if isinstance(prompt, ScriptPrompt) and prompt.fact in around.facts:
            yield prompt, CheckInputs(fact=around.facts[prompt.fact], prompt=prompt)


def _neighbours(items: Sequence[Record], around: CheckContext) -> ItemInputs:
    """Links with both facts, once for each prompt of the neighbour; a link without any stays due."""
    links = [x for x in items if isinstance(x, Neighbour) and {x.edit, x.fact} <= around.facts.keys()]
    prompts: dict[str, list[ScriptPrompt]] = defaultdict(list)
    for prompt in around.store.of_parents(ScriptPrompt, {link.fact for link in links}):
        prompts[prompt.fact].append(prompt)
    for link in links:
        edit, fact = around.facts[link.edit], around.facts[link.fact]
        for prompt in prompts[link.fact]:
            yield link, CheckInputs(fact=fact, edit=edit, link=link, prompt=prompt)


_LOOKUPS: Mapping[str, Callable[[Sequence[Record], CheckContext], ItemInputs]] = {
    "fact": _facts,
    "question": _questions,
    "script": _scripts,
    "prompt": _prompts,
    "neighbour": _neighbours,
}
