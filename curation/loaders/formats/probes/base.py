"""What readers of such benchmarks share: an edit in words, its statement, and probes with a group."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from curation.loaders.base import FormatReader, Row
from curation.loaders.fields import strings
from schemas.documents.document import BLANK, Document, DocumentProbe
from schemas.documents.statement import Group, Premise, Statement, stated_text
from schemas.documents.tags import Tag

NO_ANSWER = "a probe without an answer: left out"
NO_SUBJECT = "the subject does not stand in the prompt: methods for facts cannot edit it"
_ENDS = (".", "?", "!")
_LETTER = r"[^\W\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
"""A letter or number of a script that puts spaces between words: inside a word a subject is not named."""


class GivenEdit(NamedTuple):
    """An edit as a source gives it: a prompt with the subject filled in, and what shall follow."""

    subject: str
    prompt: str
    target: str

    @property
    def statement(self) -> Statement | None:
        """The same with a gap for the subject; None where the subject does not stand in the prompt as words of its own.

        Its first mention as it is written counts, else the first one whose letters differ in case only.
        """
        words = rf"(?<!{_LETTER}){re.escape(self.subject)}(?!{_LETTER})"
        match = re.search(words, self.prompt) or re.search(words, self.prompt, re.IGNORECASE)
        if match is None or "{" in self.prompt or "}" in self.prompt:
            return None
        gapped = f"{self.prompt[: match.start()]}{{}}{self.prompt[match.end() :]}"
        return Statement(subject=match[0], prompt=gapped, target=self.target)


def query_of(prompt: str, *, question: bool = False) -> str:
    """A prompt as a query: a question as it is, else a cloze with a blank at its end.

    Args:
        prompt: It.
        question: Whether it is a question even without a question mark.

    Example:
        >>> query_of("The capital of Chad is"), query_of("Who wrote Emma?"), query_of("who wrote emma", question=True)
        ('The capital of Chad is ___', 'Who wrote Emma?', 'who wrote emma')
    """
    return prompt if question or BLANK in prompt or prompt.endswith(_ENDS) else f"{prompt} {BLANK}"


def flat_strings(value: Any) -> Iterator[str]:
    """Texts of nested lists and of objects with ``value`` and ``aliases``, in order.

    Example:
        >>> list(flat_strings([["Berlin", "Berlin, Germany"], {"value": "no", "aliases": ["not"]}, " "]))
        ['Berlin', 'Berlin, Germany', 'no', 'not']
    """
    if isinstance(value, dict):
        yield from flat_strings(value.get("value"))
        yield from flat_strings(value.get("aliases"))
    elif isinstance(value, list):
        for item in value:
            yield from flat_strings(item)
    else:
        yield from strings(None if value is None or isinstance(value, bool) else str(value))


class ProbeBenchmark(FormatReader):
    """A reader whose rows are edits with probes of their consequences."""

    def document(self, key: str, edits: Sequence[GivenEdit], row: Row, *, item: object = None) -> Document:
        """The edits of a row as one document; those whose prompt lacks the subject are in its text alone."""
        statements = tuple(s for s in (edit.statement for edit in edits) if s is not None)
        for _ in range(len(edits) - len(statements)):
            self._tally.add(NO_SUBJECT, row)
        return Document(
            key=key,
            text=" ".join(stated_text(edit.prompt, edit.target) for edit in edits),
            entity=edits[0].subject,
            further_names=tuple(dict.fromkeys(e.subject for e in edits if e.subject != edits[0].subject)),
            statements=statements,
            source=self.upstream.source(row.number if item is None else item),
        )

    def probe(
        self,
        document: Document,
        name: str,
        query: str,
        answers: Iterable[str],
        row: Row,
        *,
        group: Group,
        old_answer: str | None = None,
        premises: Iterable[Premise] = (),
        tags: tuple[Tag, ...] = (),
    ) -> Iterator[DocumentProbe]:
        """A probe; none where the source gives no answer, which is counted.

        Args:
            document: The edit.
            name: What its key ends in.
            query: The question or the cloze.
            answers: All that are right after the edit, the usual one first.
            row: Where it stands.
            group: Which consequence it asks for.
            old_answer: What was right before.
            premises: What must be known already.
            tags: As a probe's.
        """
        right = tuple(dict.fromkeys(answers))
        if not right:
            self._tally.add(NO_ANSWER, row)
            return
        yield DocumentProbe(
            key=f"{document.key}/{name}",
            document=document.key,
            query=query,
            answer=right[0],
            accepted=right[1:],
            level=None,
            tags=tags,
            group=group,
            old_answer=old_answer,
            premises=tuple(premises),
        )
