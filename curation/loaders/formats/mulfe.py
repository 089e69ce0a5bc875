"""MULFE (Apache-2.0): documents with probes of three levels, what they were simplified to, and specificity questions.

Documents have three released shapes: evaluation, development (other keys) and simplification (the evaluation shape with
statements). What is odd in the files is kept and counted, not mended.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator

from curation.loaders.base import FormatReader, Loader, Row, RowItem
from curation.loaders.shapes import Listed, OrEmpty, RawText, Shape, Text, Texts, rest
from curation.loaders.sources import MULFE, MULFE_SPECIFICITY
from schemas.core.ids import canonical_json, digest
from schemas.documents.document import Document, DocumentProbe, Level, holds_answer, is_literal
from schemas.documents.simplified import SimplifiedFact
from schemas.documents.specificity import SpecificityQuestion, SpecificitySet
from schemas.documents.tags import TAGS, Tag

LEVELS: Mapping[str, Level] = {"1": 1, "2": 2, "3": 3}
STRATEGIES = ("doc_openie", "lmqg", "lmqg_ner", "stanford_openie")
"""What the published simplification files end in (``mulfe_test.json.lmqg_ner``): their statements' strategy."""
OTHER_STRATEGY = "file"
"""Strategy of the statements of a file that ends otherwise."""


def _level(value: Any) -> Any:
    if value is not None and str(value) not in LEVELS:
        raise ValueError(f"must be 1, 2 or 3, it is {value!r}")
    return value


class ProbeShape(Shape):
    """A probe; one without a level has none."""

    id: Text
    query: RawText
    answer: Text
    level: Annotated[Any, BeforeValidator(_level)] = None
    tags: Texts = ()
    tag: Texts = ()


class StatementShape(Shape):
    """A statement that a document was simplified to."""

    subject: Text
    prompt: Text
    target: str
    input: Any = None


class MetaShape(Shape):
    """What is told of a document."""

    entity: Text | None = None


class DocumentShape(Shape):
    """A document of any of the three shapes."""

    id: Text
    doc: RawText
    meta: Annotated[MetaShape, OrEmpty] = MetaShape()
    page_title: Text | None = None
    created: str | None = None
    probes: tuple[ProbeShape, ...] | None = None
    generated_probes: tuple[ProbeShape, ...] = ()
    simplification: Annotated[tuple[StatementShape, ...], Listed] = ()


class Mulfe(FormatReader):
    """One document a row. Tags keep their spellings in extras."""

    upstream = MULFE

    def _quirk(self, what: str, row: Row, of: str, *, found: bool = True) -> None:
        if found:
            self.note(what, row, kind="quirk", of=of)

    def make(self, row: Row) -> Iterator[RowItem]:
        """The document, its probes, its statements, and extras."""
        data = DocumentShape.of(row.data)
        if data.probes is None and "generated_probes" not in row.data:
            raise KeyError("generated_probes")
        text = data.doc.strip()
        self._quirk("white space at an end", row, "document", found=text != data.doc)
        document = Document(
            key=document_key(data.id),
            text=text,
            entity=data.meta.entity,
            title=data.page_title,
            source=self.source(data.id, date=data.created),
        )
        yield document
        for probe in data.generated_probes if data.probes is None else data.probes:
            yield from self._probe(document, data.id, probe, row)
        for place, statement in enumerate(data.simplification):
            yield from self._statement(document, place, statement, row)
        yield from rest(document.key, data.others | ({"meta": row.data["meta"]} if data.meta.others else {}))

    def _probe(self, document: Document, name: str, fields: ProbeShape, row: Row) -> Iterator[RowItem]:
        spelled = {k: list(getattr(fields, k)) for k in ("tags", "tag") if k in fields.model_fields_set}
        read = read_tags(fields.tags if "tags" in spelled else fields.tag)
        probe = DocumentProbe(
            key=probe_key(name, fields.id),
            document=document.key,
            query=fields.query.strip(),
            answer=fields.answer,
            level=None if fields.level is None else LEVELS[str(fields.level)],
            tags=read.tags,
        )
        yield probe
        for what, found in {
            "white space at an end": probe.query != fields.query,
            "its level is text": isinstance(fields.level, str),
            "a tag is none of the closed list": bool(read.unknown),
            "it has no level": probe.level is None,
            "it has several blanks": probe.blanks > 1,
            "its blank is longer than three underscores": "____" in probe.query,
            "of level 1, without a blank": probe.level == 1 and not probe.blanks,
            "of level 1, not word for word in its document": probe.level == 1
            and bool(probe.blanks)
            and not is_literal(probe, document),
            "the query holds its answer": holds_answer(probe),
        }.items():
            self._quirk(what, row, "probe", found=found)
        yield from rest(probe.key, fields.others | spelled)

    def _statement(self, document: Document, place: int, fields: StatementShape, row: Row) -> Iterator[RowItem]:
        ending = self.named.suffix.removeprefix(".")
        strategy = ending if ending in STRATEGIES else OTHER_STRATEGY
        fact = SimplifiedFact(
            key=f"{document.key}/{strategy}/{place}",
            document=document.key,
            strategy=strategy,
            subject=fields.subject,
            prompt=fields.prompt,
            target=fields.target.strip(),
        )
        yield fact
        odd = fields.input not in (None, fact.filled_prompt)
        self._quirk("its target is empty", row, "statement", found=not fact.target)
        self._quirk("its target begins with a space", row, "statement", found=fields.target != fact.target != "")
        self._quirk("its prompt, filled in, is not its input", row, "statement", found=odd)
        yield from rest(fact.key, fields.others | ({"input": fields.input} if odd else {}))


def document_key(name: str) -> str:
    """The key of a document, after its published id.

    Example:
        >>> document_key("mulfe_test_ei_0")
        'mulfe/mulfe_test_ei_0'
    """
    return f"mulfe/{'-'.join(name.split())}"


def probe_key(document: str, name: str) -> str:
    """The key of a probe, after the published ids of its document and its own.

    Example:
        >>> probe_key("mulfe_test_ei_0", "mulfe_test_ei_0_7")
        'mulfe/mulfe_test_ei_0/7'
    """
    return f"{document_key(document)}/{'-'.join(name.removeprefix(f'{document}_').split())}"


# ---- specificity questions: one file a base model, which is one set ---------------------------------------------


class MetricsShape(Shape):
    """What was measured of an answer."""

    nll: float | None = None
    ppl: float | None = None


class QuestionShape(Shape):
    """A question that a base model answers."""

    id: Text
    query: Text
    answer: Text
    metrics: Annotated[MetricsShape, OrEmpty] = MetricsShape()


class MulfeSpecificity(FormatReader):
    """A file of questions as one ``SpecificitySet``; the model is that of the file's name.

    Two sets of one model (the published random 400 and the 400 of lowest perplexity have files of one name) have
    different keys, made of their content. Which prompts and which weights they were chosen with is not published.
    """

    upstream = MULFE_SPECIFICITY

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._questions: dict[str, SpecificityQuestion] = {}

    def make(self, row: Row) -> Iterator[RowItem]:
        """Nothing yet: the question is put aside."""
        data = QuestionShape.of(row.data)
        measured = {"nll": data.metrics.nll, "ppl": data.metrics.ppl}
        question = SpecificityQuestion(item=data.id, query=data.query, answer=data.answer, **measured)
        if self._questions.setdefault(data.id, question) is not question:
            yield row.problem("duplicate", f"the question '{data.id}' is there twice")

    def end(self) -> Iterator[RowItem]:
        """The set."""
        if not self._questions:
            return
        model, questions = model_of(self.named), tuple(self._questions.values())
        content = digest(canonical_json(question.model_dump(mode="json")) for question in questions)[:10]
        key = f"specificity/{model}/{content}"
        yield SpecificitySet(key=key, model=model, questions=questions, source=self.upstream.source())


def model_of(path: Path) -> str:
    """The model that a published file is about: the first underscore of its name stands for a slash.

    Example:
        >>> model_of(Path("EleutherAI_gpt-j-6B.json")), model_of(Path("gpt2-xl.json"))
        ('EleutherAI/gpt-j-6B', 'gpt2-xl')
    """
    return path.stem.replace("_", "/", 1)


def file_name(model: str) -> str:
    """The published file's name of a model's set."""
    return f"{model.replace('/', '_', 1)}.json"


load_mulfe = Loader("mulfe", Mulfe)
load_specificity = Loader("mulfe-specificity", MulfeSpecificity)


_PHRASES: Mapping[str, str] = {
    "time event inverse": "time reverse",
    "time event reverse": "time reverse",
    "time location reverse": "time place reverse",
    "historical event inference": "event inference",
    "historical record": "event",
    "historical context": "event",
    "historical understanding": "event",
    "history influence": "result",
    "event name extraction": "name",
    "event element": "element",
    "event location inference": "place inference",
    "event duration": "time",
    "event description": "event",
    "related event extraction": "event",
    "cause effect": "cause result",
    "cause and effect": "cause result",
    "cause effect extraction": "cause result",
    "cause and effect inference": "cause result inference",
    "background information": "inference",
    "background knowledge": "inference",
    "general knowledge": "inference",
    "general knowledge inference": "inference",
    "general understanding": "inference",
    "knowledge": "recall",
    "factual knowledge": "recall",
    "country recalling": "country recall",
    "number recalling": "number recall",
    "recalling participants": "participant recall",
    "list recall": "recall",
    "summarized judgement": "summary opinion",
    "public opinion inference": "opinion inference",
    "numeric question": "number",
    "math calculation": "arithmetic",
    "simple math": "arithmetic",
    "simple choice": "comparison",
    "associative reasoning": "inference",
    "asking for time": "time",
    "specific year": "time",
    "locating information": "recall",
    "locating": "recall",
    "information type": "type",
    "name extraction": "name",
    "full name extraction": "name",
    "yes no question": "inference",
    "true or false": "inference",
    "identifying relationships": "element",
    "identifying involved parties": "participant",
    "entity identification": "recall",
    "specific entity inference": "element inference",
    "understanding inference": "inference",
    "fact based": "recall",
    "fact checking": "inference",
    "fact finding": "recall",
    "fact inference": "inference",
    "factual inference": "inference",
    "negative fact retrieval": "comparison",
    "situation extraction": "status",
    "result inference": "result inference",
    "theme extraction": "type",
    "sequential inference": "inference event",
    "sequential extraction": "event",
    "conduct inference": "event inference",
}
_WORDS_OF: Mapping[str, str] = {
    "": (
        "extraction extration extaction inquiry question asking simple complex specific basic "
        "information specifying specification and wh to multi"
    ),
    "element": (
        "element content detail details domain attribute relation relationship sport awards prize "
        "capability crime instrument team record culture task measure coincidence challenge advantage "
        "platform area"
    ),
    "time": "time date year duration timespan temporal birth death frequency",
    "place": "location locational",
    "country": "nation nationality country",
    "number": "number numeric numerical quantification quantitative",
    "participant": "participant organization creator author audience affiliation membership",
    "name": "name alias title language",
    "type": (
        "type topic genre category categorization classification classifying definition definitional "
        "defining concept conceptual meaning vocabulary synonyms translation"
    ),
    "status": "status role circumstance focus",
    "cause": "cause causal causality reason explanation",
    "purpose": "purpose means method",
    "result": "result effect influence impact importance significance consequence implication",
    "event": "event action",
    "opinion": "opinion stance emotion tone",
    "degree": "degree",
    "inference": (
        "inference infererence reasoning entail induction commonsense textual critical thinking "
        "understanding understand comprehension interpretation speculation prediction deduction analysis "
        "analytical analyzing assessing verification verifying confirmation binary context elaborative "
        "clarifying"
    ),
    "arithmetic": "math calculating calculation calculative counting",
    "comparison": "comparison comparative choice exclusion negation negative",
    "summary": "summary summarizing summarization",
    "recall": (
        "factual fact facts reciting recalling recall rephrasing paraphrasing retrieval identification "
        "identifying memory descriptive listing list seeking finding sequences recognition recognizing"
    ),
    "reverse": "reverse inverse property",
    "multi_hop": "hop",
    "coreference": "correference coreference",
    "partial": "part partial",
}
"""Single words by what they say; those under "" say nothing, or only with others."""
_WORDS = {word: tag for tag, words in _WORDS_OF.items() for word in words.split()}


class ReadTags(NamedTuple):
    """Tags of the closed list, in its order, and the spellings that mean none of them."""

    tags: tuple[Tag, ...]
    unknown: tuple[str, ...] = ()


def read_tags(spellings: Iterable[str]) -> ReadTags:
    """The tags that published spellings mean.

    Example:
        >>> read_tags(["Part-Time Extraction", "Multi-Hop", "Weather"])
        ReadTags(tags=('time', 'multi_hop', 'partial'), unknown=('Weather',))
    """
    meant: set[str] = set()
    unknown = []
    for spelling in spellings:
        if meaning := _meaning(spelling):
            meant |= meaning
        else:
            unknown.append(spelling)
    return ReadTags(tuple(tag for tag in TAGS if tag in meant), tuple(unknown))


def _meaning(spelling: str) -> set[str]:
    """Tags of one spelling; empty where a word of it is not known."""
    folded = " ".join(re.findall(r"\w+", spelling.casefold()))
    if folded in _PHRASES:
        return set(_PHRASES[folded].split())
    words = folded.split()
    if not all(word in _WORDS for word in words):
        return set()
    meant = {_WORDS[word] for word in words} - {""}
    if words and not meant:  # "Simple Question", "Specific Information": what the document says
        return {"recall"}
    return meant - {"recall"} if len(meant) > 1 and "inference" in meant else meant
