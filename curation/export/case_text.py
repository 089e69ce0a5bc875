"""Cases as text for people: the fact, its questions and scripts with the cut marked, the neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from curation.splits.visible_texts import visible_texts
from schemas.cases import AnyCase, Case
from schemas.facts import Fact
from schemas.scripts import Script, ScriptPrompt, render

CUT = "[CUT]"
"""Where a script prompt ends: the object follows."""


def case_lines(case: AnyCase, scripts: Mapping[str, Script]) -> Iterator[str]:
    """The lines of a case.

    Args:
        case: The case.
        scripts: Scripts by key, where they are known: what follows the cut is shown too.
    """
    if not isinstance(case, Case):
        yield case.key
        yield from (f"  {what}: {text}" for (what, _), text in visible_texts(case).items())
        return
    new = f" -> {case.fact.new.text}" if case.fact.new else ""
    date = f", {case.fact.changed_on}" if case.fact.changed_on else ""
    yield f"{case.key}  ({case.fact.change}{date})"
    yield f"  {_statement(case.fact)}{new}"
    questions = {question.key: question.text for question in case.questions}
    for prompt in case.prompts:
        yield from _prompt_lines(prompt, questions, scripts)
    for neighbour in case.neighbours:
        yield f"  neighbour ({neighbour.link.how.replace('_', ' ')}): {_statement(neighbour.fact)}"
        questions = {question.key: question.text for question in neighbour.questions}
        for prompt in neighbour.prompts:
            yield from _prompt_lines(prompt, questions, scripts)


def _statement(fact: Fact) -> str:
    return f"{fact.fact_prompt} {fact.old.text}"


def _prompt_lines(prompt: ScriptPrompt, questions: Mapping[str, str], scripts: Mapping[str, Script]) -> Iterator[str]:
    """The prompt, the mark, and what its script says after it (without the script: the targets)."""
    rest, script = " / ".join(prompt.targets), scripts.get(prompt.script or "")
    question = questions.get(prompt.question or "")
    if script is not None and question is not None:
        whole = render(question, script.steps)
        rest = whole[prompt.offset :] if whole.startswith(prompt.text) else rest
    yield from (f"    {line}" for line in f"{prompt.text}{prompt.separator}{CUT}{rest}".split("\n"))
