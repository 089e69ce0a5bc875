"""``ner_qg``: entities and noun phrases as answers, a question each (MULFE §5.2: NERQG).

A sequence-to-sequence model on this machine writes the questions, as published; without one each is a cloze, the
answer's sentence with the answer cut out. The last entity of the question is the subject, and what has none is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from typing_extensions import override

from evaluation.simplify.base import PROMPT, QuestionStatement, Simplifier
from evaluation.simplify.parsing import (
    DEFAULT_MODEL,
    Phrase,
    QuestionWriter,
    Sentence,
    marked_text,
    parse,
    parser_version,
    statement_about,
)
from schemas.core.config import Options
from schemas.documents.document import BLANK, Document
from schemas.documents.simplified import SimplifiedFact

QUESTION_TOKENS = 64  # that a written question has at most


class EntityQuestions(Simplifier):
    """A question or a cloze for every entity and noun phrase."""

    name: ClassVar[str] = "ner_qg"
    about: ClassVar[str] = "entities and noun phrases as answers, each with its sentence as a cloze, or a question"
    needs: ClassVar[str] = "spaCy with a model (extra 'parse')"
    beside: ClassVar[frozenset[str]] = frozenset({"seq2seq", "prefix"})

    class Params(Options):
        """What is asked for, and by which models.

        Attributes:
            model: spaCy's model, by name or folder.
            noun_phrases: Whether they are answers, beside entities.
            seq2seq: Folder of a sequence-to-sequence model that writes a question for each answer; None for clozes.
            prefix: What stands before the text that it reads.
        """

        model: str = DEFAULT_MODEL
        noun_phrases: bool = True
        seq2seq: Path | None = None
        prefix: str = "generate question: "

    params: Params

    @property
    @override
    def components(self) -> Mapping[str, str]:
        writer = {} if self._writer is None else {"writer": self._writer.identity}
        return {"parser": parser_version(self.params.model), **writer}

    @cached_property
    def _writer(self) -> QuestionWriter | None:
        folder = self.params.seq2seq
        return None if folder is None else QuestionWriter(folder, self.params.prefix)

    def simplify(self, document: Document) -> Iterable[SimplifiedFact]:
        """The questions of all sentences, in the order of their answers."""
        sentences, statements = parse(document.text, self.params.model), []
        for place, sentence in enumerate(sentences):
            for answer in answers_of(sentence, noun_phrases=self.params.noun_phrases):
                if self._writer is None:
                    statements.append(cloze_statement(sentence, answer))
                    continue
                question = self._writer.write(marked_text(sentences, place, answer), tokens=QUESTION_TOKENS)
                target = sentence.text(answer.start, answer.end)
                statements.append(statement_about(question, target, self.params.model))
        fitting = (one for one in statements if one is not None and one.prompt.count("{}") == 1)
        for n, one in enumerate(fitting):
            yield self.statement(document, n, subject=one.subject, prompt=one.prompt, target=one.target)


def answers_of(sentence: Sentence, *, noun_phrases: bool) -> list[Phrase]:
    """Entities, and noun phrases that share no word with one and are more than a pronoun; in the order of the text."""
    taken = {n for entity in sentence.entities for n in range(entity.start, entity.end)}
    others = [
        phrase
        for phrase in (sentence.noun_phrases if noun_phrases else ())
        if taken.isdisjoint(range(phrase.start, phrase.end))
        and any(word.kind != "PRON" for word in sentence.words[phrase.start : phrase.end])
    ]
    return sorted((*sentence.entities, *others))


def subject_beside(sentence: Sentence, answer: Phrase) -> Phrase | None:
    """The last entity outside an answer, which is the question's subject; None where there is none."""
    beside = [e for e in sentence.entities if e.end <= answer.start or e.start >= answer.end]
    return beside[-1] if beside else None


def cloze_statement(sentence: Sentence, answer: Phrase) -> QuestionStatement | None:
    """A sentence as a cloze for an answer; None where nothing beside the answer can be the subject."""
    if (subject := subject_beside(sentence, answer)) is None:
        return None
    name, target = (sentence.text(one.start, one.end) for one in (subject, answer))
    return QuestionStatement(name, cloze_prompt(sentence, answer, subject), target)


def cloze_prompt(sentence: Sentence, answer: Phrase, subject: Phrase) -> str:
    """The sentence as a question, the answer a blank and the subject a gap."""
    gaps = {answer.start: (answer, BLANK), subject.start: (subject, "{}")}
    parts, n = [], 0
    while n < len(sentence.words):
        word = sentence.words[n]
        text = word.text
        if n in gaps:
            phrase, text = gaps[n]
            n = phrase.end - 1
            word = sentence.words[n]
        parts.append(text + (" " if word.space else ""))
        n += 1
    return PROMPT.replace("{question}", "".join(parts).strip())
