"""``ner_qg``: entities and noun phrases as answers, each asked by a cloze: its sentence with the answer cut out.

MULFE has a sequence-to-sequence model write a question for each answer (NERQG); no model is asked here. As published,
the last entity of the question is the subject, and what has none is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from evaluation.simplify.base import Simplifier
from evaluation.simplify.parsing import DEFAULT_MODEL, Phrase, Sentence, parse, parser_version
from schemas.core.config import Options
from schemas.documents.document import BLANK, Document
from schemas.documents.simplified import SimplifiedFact

PROMPT = "Question: {question}\nAnswer:"
"""The form of the published files."""


class EntityQuestions(Simplifier):
    """A cloze for every entity and noun phrase."""

    name: ClassVar[str] = "ner_qg"
    about: ClassVar[str] = "entities and noun phrases as answers, each with its sentence as a cloze"
    needs: ClassVar[str] = "spaCy with a model (extra 'parse')"

    class Params(Options):
        """``model``: spaCy's model, by name or folder. ``noun_phrases``: whether they are answers, beside entities."""

        model: str = DEFAULT_MODEL
        noun_phrases: bool = True

    params: Params

    @property
    def components(self) -> Mapping[str, str]:
        """The parser's model."""
        return {"parser": parser_version(self.params.model)}

    def simplify(self, document: Document) -> Iterable[SimplifiedFact]:
        """The clozes of all sentences, in the order of their answers."""
        place = 0
        for sentence in parse(document.text, self.params.model):
            for answer in answers_of(sentence, noun_phrases=self.params.noun_phrases):
                if (subject := subject_beside(sentence, answer)) is None:
                    continue
                prompt, target = cloze_prompt(sentence, answer, subject), sentence.text(answer.start, answer.end)
                if prompt.count("{}") == 1:
                    name = sentence.text(subject.start, subject.end)
                    yield self.statement(document, place, subject=name, prompt=prompt, target=target)
                    place += 1


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
