"""The texts that records carry, for comparing them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.core.records import Record
from schemas.facts import Fact
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion

TEXT_KINDS: dict[str, type[Record]] = {c.kind: c for c in (ScriptQuestion, Fact, ScriptPrompt, Script)}


def record_text(record: Record) -> str:
    """The text of a record by which it is compared with others of its kind.

    Example:
        >>> record_text(ScriptQuestion(key="q", fact="f", text="How to go?"))
        'How to go?'
    """
    if isinstance(record, ScriptQuestion | ScriptPrompt):
        return record.text
    if isinstance(record, Script):
        return "\n".join(record.steps)
    if isinstance(record, Fact):
        return f"{record.fact_prompt} {record.old.text}"
    raise UserError(f"a {record.kind} has no text to compare", allowed=", ".join(TEXT_KINDS))


def case_records(cases: Iterable[Case], kind: str) -> Iterator[Record]:
    """The cases' own questions, prompts or facts (not those of neighbours), each once."""
    seen: set[str] = set()
    for case in cases:
        of: dict[str, tuple[Record, ...]] = {"question": case.questions, "prompt": case.prompts, "fact": (case.fact,)}
        if kind not in of:
            raise UserError(f"a split's cases hold no {kind}", allowed=", ".join(of))
        for record in of[kind]:
            if record.id not in seen:
                seen.add(record.id)
                yield record


def group_of(record: Record, within: str, relations: Mapping[str, str]) -> str:
    """Inside which group a record is compared: everything (""), its fact, or its fact's relation."""
    if within == "all":
        return ""
    if isinstance(record, Fact):
        fact = record.key
    elif isinstance(record, ScriptQuestion | ScriptPrompt):
        fact = record.fact
    else:
        raise UserError(f"a {record.kind} does not say which fact it belongs to", fix="compare all: --within all")
    return fact if within == "fact" else relations.get(fact, "")
