"""What a model is asked about documents, and what its replies mean: probes, and answers of a reader."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, field_validator
from typing_extensions import override

from construction.llm.prompt_file import ProfilePrompt, PromptFolder, PromptStep
from construction.llm.prompt_text import ReplyText, fence_text, tidy
from construction.llm.step import Message, StrictReply
from curation.loaders.formats.mulfe import read_tags
from schemas.core.ids import digest
from schemas.documents.document import BLANK, Document, DocumentProbe, contains_words, plain_words
from schemas.verdicts import Label, Verdict, verdict_key


class ProbePrompt(ProfilePrompt):
    """One prompt file of the construction of probes: the writer's, or the reader's."""

    fills: ClassVar[Mapping[str, frozenset[str]]] = {
        "write_probes": frozenset({"document", "fewest", "most"}),
        "answer_probe": frozenset({"document", "query"}),
    }


FILES = PromptFolder(
    ProbePrompt,
    package="construction.documents",
    folder="prompts",
    tasks=tuple(ProbePrompt.fills),
    reader="the construction of probes",
)
NO_DOCUMENT = "none"
"""What the reader is shown in the document's place when it has to answer without it."""
_UNKNOWN = frozenset({"", "unknown", "none", "i do not know", "i don t know", "not stated", "n a"})
_BLANKS = re.compile("_{2,}|…{2,}")


class WrittenProbe(StrictReply):
    """One probe as the model writes it."""

    query: ReplyText
    answer: ReplyText
    level: Literal[1, 2, 3]
    tags: list[str]


class ProbesReply(StrictReply):
    """Probes of a document."""

    probes: list[WrittenProbe]

    @field_validator("probes")
    @classmethod
    def _some(cls, probes: list[WrittenProbe]) -> list[WrittenProbe]:
        if not probes:
            raise ValueError("at least one probe is needed")
        return probes


class ReaderReply(StrictReply):
    """A short answer, or "unknown"."""

    answer: Annotated[str, AfterValidator(tidy)]


class ProbesAsk(NamedTuple):
    """One call for the probes of a document."""

    document: Document
    fewest: int
    most: int


class TaggedProbe(NamedTuple):
    """A probe, and the tags of the reply that mean none of the closed list."""

    probe: DocumentProbe
    unknown_tags: tuple[str, ...]


class ProbeStep(PromptStep[ProbesAsk, TaggedProbe, ProbePrompt]):
    """Writes probes of three levels."""

    reply = ProbesReply

    @override
    def prompt(self, item: ProbesAsk) -> list[Message]:
        text = fence_text(item.document.text)
        return self.wording.chat({"document": text, "fewest": str(item.fewest), "most": str(item.most)})

    def usual(self, item: ProbesAsk) -> BaseModel:
        """Probes that every check lets pass, as many as lie halfway between fewest and most."""
        words = [word for word in plain_words(item.document.text).split() if len(word) > 2] or ["word"]
        probes = [
            WrittenProbe.model_construct(
                query=f"Which answer belongs to question number {n}?", answer=words[n % len(words)], level=2, tags=[]
            )
            for n in range((item.fewest + item.most) // 2)
        ]
        return ProbesReply.model_construct(probes=probes)

    def parse(self, item: ProbesAsk, reply: BaseModel) -> list[TaggedProbe]:
        """The probes, each query and answer once, at most as many as asked for; any run of underscores is a blank."""
        assert isinstance(reply, ProbesReply)
        by_key: dict[str, TaggedProbe] = {}
        for written in reply.probes[: item.most]:
            query, read = _BLANKS.sub(BLANK, written.query), read_tags(map(tidy, written.tags))
            key = f"{item.document.key}/{digest([query, written.answer])[:10]}"
            probe = DocumentProbe(
                key=key,
                document=item.document.key,
                query=query,
                answer=written.answer,
                level=written.level,
                tags=read.tags,
            )
            by_key.setdefault(key, TaggedProbe(probe, read.unknown))
        return list(by_key.values())


class ReaderAsk(NamedTuple):
    """What the reader is asked: a probe, with its document or without."""

    document: Document
    probe: DocumentProbe
    shown: bool


class ReaderStep(PromptStep[ReaderAsk, Verdict, ProbePrompt]):
    """Answers a probe from its document, or without it.

    From the document the right answer keeps a probe, none drops it, and another one is for people to decide. Without
    the document the right answer drops it: it can be known without having read.

    Args:
        prompt: The wording.
        model: Who answers, as the verdicts name it.
    """

    reply = ReaderReply

    def __init__(self, prompt: ProbePrompt, *, model: str) -> None:
        super().__init__(prompt)
        self._model = model

    @override
    def prompt(self, item: ReaderAsk) -> list[Message]:
        shown = fence_text(item.document.text) if item.shown else NO_DOCUMENT
        return self.wording.chat({"document": shown, "query": item.probe.query})

    @override
    def usual(self, item: ReaderAsk) -> BaseModel:
        return ReaderReply.model_construct(answer=item.probe.answer if item.shown else "unknown")

    @override
    def parse(self, item: ReaderAsk, reply: BaseModel) -> list[Verdict]:
        assert isinstance(reply, ReaderReply)
        label, reason = self._judge(item, reply.answer)
        return [self.verdict(item, label, reason)]

    def verdict(self, item: ReaderAsk, label: Label, reason: str) -> Verdict:
        """A verdict of the reader on a probe: ``answered_from_document`` or ``answered_without``."""
        by = f"{'answered_from_document' if item.shown else 'answered_without'}@{self.version}"
        return Verdict(
            key=verdict_key(item_id=item.probe.id, by=by, model=self._model),
            item_id=item.probe.id,
            by=by,
            label=label,
            reason=f"{reason} ({self.label})",
            model=self._model,
        )

    @staticmethod
    def _judge(item: ReaderAsk, answer: str) -> tuple[Label, str]:
        known = plain_words(answer) not in _UNKNOWN
        right = known and is_answer(answer, item.probe)
        if not item.shown:
            return ("drop", f"answered without the document: '{answer}'") if right else ("keep", "not known without")
        if right:
            return "keep", "answered from the document"
        if not known:
            return "drop", "the reader finds no answer in the document"
        return "unsure", f"the reader answers '{answer}'"


def is_answer(text: str, probe: DocumentProbe) -> bool:
    """Whether a text is an accepted answer or holds one; case and punctuation aside. A part of one is another answer.

    Example:
        >>> probe = DocumentProbe(key="d/1", document="d", query="When?", answer="May 2019", level=2)
        >>> is_answer("on 3 May 2019.", probe), is_answer("2019", probe)
        (True, False)
    """
    return any(contains_words(text, answer) for answer in probe.answers)
