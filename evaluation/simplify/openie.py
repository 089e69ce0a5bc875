"""``openie``: statements by clause patterns over spaCy's dependency parse, or by a running CoreNLP server.

Patterns: verb with particle and object; verb with object and preposition; verb and preposition; copula with noun or
adjective; passive with its agent; apposition. Conjoined verbs share their subject. A pronoun is no subject: what it
stands for is not in the sentence.
"""

from __future__ import annotations

import http.client
import json
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from pydantic import Field

from evaluation.simplify.base import Simplifier
from evaluation.simplify.parsing import DEFAULT_MODEL, Sentence, parse, parser_version
from schemas.core.config import Options
from schemas.core.errors import UserError
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


SECONDS = 60
ANNOTATORS = "tokenize,pos,lemma,depparse,natlog,openie"


def ask_server(address: str, text: str, *, threshold: float) -> list[Clause]:
    """The server's statements of a text.

    Args:
        address: Such as ``http://localhost:9000``.
        text: The document.
        threshold: Least confidence.

    Raises:
        UserError: it does not answer, or not as CoreNLP does.
    """
    settings = {"annotators": ANNOTATORS, "outputFormat": "json", "openie.affinity_probability_cap": str(threshold)}
    if not address.startswith(("http://", "https://")):
        raise UserError("the address of a CoreNLP server begins with http:// or https://", where=f"server: {address}")
    url = f"{address.rstrip('/')}/?{urllib.parse.urlencode({'properties': json.dumps(settings)})}"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, text.encode()), timeout=SECONDS) as reply:
            return read_reply(json.load(reply))
    except (OSError, http.client.HTTPException) as error:  # not there, too slow, or gone in the middle of its reply
        reason = getattr(error, "reason", None) or error or type(error).__name__
        fix = "start one, or leave server out to use spaCy"
        raise UserError(f"the CoreNLP server does not answer: {reason}", where=address, fix=fix) from None
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"the server's reply is not that of CoreNLP: {error}", where=address) from None


def read_reply(reply: Any) -> list[Clause]:
    """The statements of a reply, each once."""
    rows = [row for sentence in reply["sentences"] for row in sentence["openie"]]
    return list(dict.fromkeys(Clause(row["subject"], row["relation"], row["object"]) for row in rows))


class OpenStatements(Simplifier):
    """Subject, verb phrase and object, the prompt being the first two (MULFE §5.2: OpenIE)."""

    name: ClassVar[str] = "openie"
    about: ClassVar[str] = "clauses of the parsed sentences: subject, verb phrase, object"
    needs: ClassVar[str] = "spaCy with a model (extra 'parse'), or a running CoreNLP server"

    class Params(Options):
        """Options of open information extraction.

        Attributes:
            model: spaCy's model, by name or folder.
            server: Address of a running CoreNLP server, which is asked instead.
            threshold: Least confidence of the server's statements (published: 2/3).
        """

        model: str = DEFAULT_MODEL
        server: str | None = None
        threshold: float = Field(default=2 / 3, ge=0, le=1)

    params: Params

    @property
    def components(self) -> Mapping[str, str]:
        """The parser's model; a server does not say what it is."""
        return {} if self.params.server is not None else {"parser": parser_version(self.params.model)}

    def simplify(self, document: Document) -> Iterable[SimplifiedFact]:
        """The clauses of all sentences."""
        for place, clause in enumerate(self._clauses(document.text)):
            prompt = f"{{}} {clause.predicate}"
            yield self.statement(document, place, subject=clause.subject, prompt=prompt, target=clause.target)

    def _clauses(self, text: str) -> Iterator[Clause]:
        if self.params.server is not None:
            everything = ask_server(self.params.server, text, threshold=self.params.threshold)
        else:
            everything = [clause for sentence in parse(text, self.params.model) for clause in clauses(sentence)]
        for clause in everything:
            if "{}" not in "".join(clause) and all(part.strip() for part in clause):
                yield clause
