"""What of a case a run, a judge or a person sees: what scores can depend on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from schemas.cases import AnyCase, Case, DocumentCase, EventCase
from schemas.core.records import Record
from schemas.facts import Fact
from schemas.scripts import Script, ScriptPrompt, render

Texts = dict[tuple[str, str], str]
"""Texts by (what it is, key)."""


def case_records(case: AnyCase) -> Iterator[Record]:
    """Every record inside a case, the edit first; a case's own record is not among them."""
    if isinstance(case, EventCase):
        yield case.event
        yield from (*case.facts, *case.tendencies)
        return
    if isinstance(case, DocumentCase):
        yield case.document
        yield from case.probes
        return
    yield case.fact
    yield from (*case.questions, *case.prompts)
    for neighbour in case.neighbours:
        yield neighbour.link
        yield neighbour.fact
        yield from (*neighbour.questions, *neighbour.prompts)


def record_keys(case: AnyCase) -> Iterator[str]:
    """Keys of the records inside a case."""
    return (record.key for record in case_records(case))


def visible_texts(case: AnyCase) -> Texts:
    """Everything that a run, a judge or a person sees of a case, by (what, key): what scores can depend on."""
    if isinstance(case, DocumentCase):
        return _of_document_case(case)
    return _of_event_case(case) if isinstance(case, EventCase) else _of_fact_case(case)


def _of_document_case(case: DocumentCase) -> Texts:
    texts = {
        ("document", case.document.key): case.document.text,
        ("entity", case.document.key): " / ".join((str(case.document.entity), *case.document.further_names)),
    }
    if case.document.statements:
        texts["statements", case.document.key] = str(
            [(s.subject, s.prompt, s.target) for s in case.document.statements]
        )
    for probe in case.probes:
        texts |= {("probe", probe.key): probe.query, ("answer", probe.key): str(probe.answers)}
        texts |= {("level and tags", probe.key): f"{probe.level} {probe.tags}"}
        asked = {"group": probe.group, "old answer": probe.old_answer}
        asked["premises"] = str([(p.query, p.answers) for p in probe.premises]) if probe.premises else None
        texts |= {(what, probe.key): text for what, text in asked.items() if text}
    return texts


def _of_event_case(case: EventCase) -> Texts:
    event = case.event
    texts = {("event", event.key): event.text, ("event type", event.key): f"{event.type} {event.template}"}
    texts["roles", event.key] = str([(filled.role, filled.entity.names) for filled in event.roles])
    for q in case.facts:
        answer_text = f"{q.scope} {q.answer.names} {q.answer.datatype} {q.background}"
        texts |= {("question", q.key): q.text, ("answer", q.key): answer_text}
        texts["relation", q.key] = f"{q.relation.id} {q.relation.label}"
        texts["subject", q.key] = str(q.subject.names if q.subject is not None else ())
        background = [f"{b.text} {b.answer.names}" for b in q.background_questions]
        texts |= {("background question", f"{q.key} {text}"): text for text in background}
    for t in case.tendencies:
        texts |= {("question", t.key): t.text, ("answer", t.key): f"{t.scope} {t.options} {t.answer}"}
    return texts


def _of_fact_case(case: Case) -> dict[tuple[str, str], str]:
    fact = case.fact
    new = fact.new.text if fact.new else ""
    texts = {
        ("prompt of the fact", fact.key): fact.fact_prompt,
        ("target", fact.key): f"{fact.old.text} -> {new}",
        ("kind of change", fact.key): f"{fact.change} {fact.changed_on}",
        **_names(fact, fact.key),
        **_number_texts("paraphrase", fact.paraphrases),
        **_number_texts("neighbour prompt", fact.neighbour_prompts),
        **{("script prompt", p.key): _prompt(p) for p in case.prompts},
        **{("question", q.key): q.text for q in case.questions},
    }
    for n in case.neighbours:
        fact = n.fact
        texts["neighbour", fact.key] = f"{n.link.how} {fact.fact_prompt} {fact.old.text}"
        fact_texts = {**_names(fact, fact.key), **_number_texts("paraphrase", fact.paraphrases)}
        texts |= {(f"neighbour's {what}", f"{fact.key} {key}"): text for (what, key), text in fact_texts.items()}
        texts |= {("neighbour's question", f"{fact.key} {q.key}"): q.text for q in n.questions}
        texts |= {("neighbour's script prompt", f"{fact.key} {p.key}"): _prompt(p) for p in n.prompts}
    return texts


def _names(fact: Fact, key: str) -> dict[tuple[str, str], str]:
    """Where the subject stands, which names count as a mention, which relation it is."""
    objects = [fact.old, *([fact.new] if fact.new else [])]
    return {
        ("subject", key): f"{fact.prompt} {fact.subject.text}",
        ("aliases", key): str([fact.subject.aliases, *((o.aliases, o.datatype) for o in objects)]),
        ("relation", key): fact.relation.id,
    }


def _number_texts(what: str, texts: Sequence[str]) -> dict[tuple[str, str], str]:
    """Texts by themselves; one that stands twice is asked twice."""
    return {(what, text if (n := texts[:place].count(text)) == 0 else f"{text} ({n})"): text
            for place, text in enumerate(texts)}  # fmt: skip


def _prompt(prompt: ScriptPrompt) -> str:
    return f"{prompt.text}{prompt.separator}{prompt.targets} {prompt.step} {prompt.question}"


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
