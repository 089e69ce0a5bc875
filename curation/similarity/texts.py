"""Texts to compare: those that records carry, and their words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.core.plain_text import fold
from schemas.core.records import Record
from schemas.facts import Fact
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion


class TextItem(NamedTuple):
    """A text to compare: the content id and the key of its record, and the group inside which it is compared."""

    id: str
    key: str
    text: str
    group: str = ""


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


_UNSPACED = "\u0e00-\u0eff\u0f00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


def words(text: str) -> list[str]:
    """The words of a text, folded.

    Example:
        >>> words("How can I reach São Paulo, 東京?")
        ['how', 'can', 'i', 'reach', 'sao', 'paulo', '東', '京']
    """
    return _WORD.findall(fold(text))


def rouge1_f(a: str, b: str) -> float:
    """ROUGE-1 F of two texts, 0 to 1; 0 where one has no word. ``similar_pairs`` must equal it.

    Example:
        >>> round(rouge1_f("How can I visit Peru?", "How do I visit Peru?"), 3)
        0.8
    """
    left, right = Counter(words(a)), Counter(words(b))
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if left and right else 0.0
