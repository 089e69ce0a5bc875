"""``openie``: statements by clause patterns over spaCy's dependency parse.

Patterns: verb with particle and object; verb with object and preposition; verb and preposition; copula with noun or
adjective; passive with its agent; apposition. Conjoined verbs share their subject. A pronoun is no subject: what it
stands for is not in the sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, NamedTuple

from typing_extensions import override

from evaluation.simplify.base import Simplifier
from evaluation.simplify.parsing import DEFAULT_MODEL, Sentence, parse, parser_version
from schemas.core.config import Options
from schemas.documents.document import Document
from schemas.documents.simplified import SimplifiedFact

SUBJECTS = ("nsubj", "nsubjpass")
OBJECTS = ("dobj", "attr", "acomp", "oprd")
AUXILIARIES = ("aux", "auxpass", "neg", "prt")
BREAKS = ("relcl", "acl", "appos", "punct", "cc", "conj", "advcl")
"""What a phrase is cut at: a clause or a second phrase inside it says something else."""


class Clause(NamedTuple):
    """What a sentence says of a subject; ``predicate`` and ``target`` follow it, each after a space."""

    subject: str
    predicate: str
    target: str


def clauses(sentence: Sentence) -> tuple[Clause, ...]:
    """All that the patterns find, in the order of the text, each once."""
    return tuple(dict.fromkeys((*_of_verbs(sentence), *_of_appositions(sentence))))


def _of_verbs(s: Sentence) -> Iterator[Clause]:
    for place, word in enumerate(s.words):
        if word.kind not in ("VERB", "AUX") or (subject := _subject(s, place)) is None:
            continue
        children = s.children(place)
        verb = [place, *(n for n in children if s.words[n].relation in AUXILIARIES)]
        objects = [n for n in children if s.words[n].relation in OBJECTS]
        for target in objects:
            yield Clause(subject, s.joined(verb), _phrase(s, target, whole=True))
        beside = [n for target in objects for n in _phrase_places(s, target)]
        for preposition in (n for n in children if s.words[n].relation in ("prep", "agent")):
            for target in (n for n in s.children(preposition) if s.words[n].relation == "pobj"):
                yield Clause(subject, s.joined([*verb, *beside, preposition]), _phrase(s, target, whole=True))


def _of_appositions(s: Sentence) -> Iterator[Clause]:
    for place, word in enumerate(s.words):
        if word.relation == "appos" and s.words[word.head].kind in ("PROPN", "NOUN"):
            yield Clause(_phrase(s, word.head), "is", _phrase(s, place, whole=True))


def _subject(s: Sentence, verb: int) -> str | None:
    """The subject of a verb, or of the verb that it is joined to; None for a pronoun or none."""
    at, seen = verb, set[int]()
    while at not in seen:
        seen.add(at)
        for child in s.children(at):
            if s.words[child].relation in SUBJECTS:
                return None if s.words[child].kind == "PRON" else _phrase(s, child)
        if s.words[at].relation != "conj":
            return None
        at = s.words[at].head
    return None


def _phrase(s: Sentence, head: int, *, whole: bool = False) -> str:
    return s.joined(_phrase_places(s, head, whole=whole))


def _phrase_places(s: Sentence, head: int, *, whole: bool = False) -> list[int]:
    """Places of a phrase: its head and what depends on it, up to clauses; ``whole`` with its prepositions."""
    out, waiting = [head], [head]
    while waiting:
        for child in s.children(waiting.pop()):
            relation = s.words[child].relation
            if relation in BREAKS or (relation == "prep" and not whole):
                continue
            out.append(child)
            waiting.append(child)
    return sorted(out)


class OpenStatements(Simplifier):
    """Subject, verb phrase and object, the prompt being the first two (MULFE §5.2: OpenIE)."""

    name: ClassVar[str] = "openie"
    about: ClassVar[str] = "clauses of the parsed sentences: subject, verb phrase, object"
    needs: ClassVar[str] = "spaCy with a model (extra 'parse')"

    class Params(Options):
        """Options of open information extraction.

        Attributes:
            model: spaCy's model, by name or folder.
        """

        model: str = DEFAULT_MODEL

    params: Params

    @property
    @override
    def components(self) -> Mapping[str, str]:
        return {"parser": parser_version(self.params.model)}

    @override
    def simplify(self, document: Document) -> Iterable[SimplifiedFact]:
        parsed = [clause for sentence in parse(document.text, self.params.model) for clause in clauses(sentence)]
        usable = [c for c in parsed if "{}" not in "".join(c) and all(part.strip() for part in c)]
        for place, clause in enumerate(usable):
            prompt = f"{{}} {clause.predicate}"
            yield self.statement(document, place, subject=clause.subject, prompt=prompt, target=clause.target)
