"""Benchmarks of single facts whose probes ask for the consequences: each edit is a document with its statements.

The formats ``mquake``, ``ripple`` and ``knowedit`` read the same files as facts, and keep these probes as extras.
QAEdit, WikiBigEdit and UltraEditBench name no old object, so their edits are no facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import AliasChoices, Field, model_validator

from curation.loaders.base import FormatReader, Loader, Row, RowItem
from curation.loaders.formats.ripple_edits import GROUPS as RIPPLE_GROUPS
from curation.loaders.formats.ripple_edits import RippleShape, split_edit
from curation.loaders.formats.single_facts import KnowEditPassage, KnowEditShape, MquakeShape, tasks
from curation.loaders.reading import rows
from curation.loaders.shapes import Listed, Names, OrEmpty, Shape, Text, Texts, rest, unique_key_part, word_match
from curation.loaders.sources import KNOWEDIT, MQUAKE, QAEDIT, RIPPLE, ULTRAEDITBENCH, UNIEDIT, WIKIBIGEDIT, Upstream
from schemas.core.ids import slug
from schemas.documents.document import BLANK, Document, DocumentProbe
from schemas.documents.statement import Group, Premise, Statement, stated_text
from schemas.documents.tags import Tag

NO_ANSWER = "a probe without an answer: left out"
NO_SUBJECT = "the subject does not stand in the prompt: methods for facts cannot edit it"


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
        match = word_match(self.subject, self.prompt) or word_match(self.subject, self.prompt, flags=re.IGNORECASE)
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
        >>> query_of("The ___ is blue")
        'The ___ is blue'
    """
    return prompt if question or BLANK in prompt or prompt.endswith((".", "?", "!")) else f"{prompt} {BLANK}"


def _premise(query: str, answers: Iterable[str]) -> Premise:
    return Premise(query=query, answers=tuple(dict.fromkeys(answers)))


class ProbeBenchmark(FormatReader):
    """A reader whose rows are edits with probes of their consequences."""

    def document(self, key: str, edits: Sequence[GivenEdit], row: Row, *, item: object = None) -> Document:
        """The edits of a row as one document; those whose prompt lacks the subject are in its text alone."""
        statements = tuple(s for s in (edit.statement for edit in edits) if s is not None)
        for _ in range(len(edits) - len(statements)):
            self.note(NO_SUBJECT, row)
        return Document(
            key=key,
            text=" ".join(stated_text(edit.prompt, edit.target) for edit in edits),
            entity=edits[0].subject,
            further_names=tuple(dict.fromkeys(e.subject for e in edits if e.subject != edits[0].subject)),
            statements=statements,
            source=self.source(row.number if item is None else item),
        )

    def probe(
        self, document: Document, name: str, query: str, answers: Iterable[str], row: Row, *, group: Group, **more: Any
    ) -> Iterator[DocumentProbe]:
        """A probe; none where the source gives no answer, which is counted.

        Args:
            document: The edit.
            name: What its key ends in.
            query: The question or the cloze.
            answers: All that are right after the edit, the usual one first.
            row: Where it stands.
            group: Which consequence it asks for.
            more: Further fields of a probe: ``old_answer``, ``premises``, ``tags``.
        """
        right = tuple(dict.fromkeys(answers))
        if not right:
            self.note(NO_ANSWER, row)
            return
        key = f"{document.key}/{name}"
        yield DocumentProbe(
            key=key,
            document=document.key,
            query=query,
            answer=right[0],
            accepted=right[1:],
            level=None,
            group=group,
            **more,
        )


# ---- MQuAKE -----------------------------------------------------------------------------------------------------


class HopShape(Shape):
    """A step of the new chain."""

    question: Text
    cloze: Text
    answer: Text
    answer_alias: Texts = ()


class MquakeHopsShape(MquakeShape):
    """A case with its chain and questions."""

    new_single_hops: Annotated[tuple[HopShape, ...], Listed] = ()
    questions: Texts = ()
    answer: Text | None = None
    new_answer: Text
    new_answer_alias: Texts = ()


class MquakeHops(ProbeBenchmark):
    """A case of MQuAKE is one edit of all its facts, and its questions are hops.

    The other steps of the new chain, which the case does not edit, are the premises.
    """

    upstream: ClassVar[Upstream] = MQUAKE

    def make(self, row: Row) -> Iterator[RowItem]:
        """The edits together, a probe in two wordings for each, and the questions over all of them."""
        data = MquakeHopsShape.of(row.data)
        rewrites = {r.prompt.replace("{}", r.subject): r for r in data.requested_rewrite}
        edits = [GivenEdit(r.subject, cloze, r.target_new.str) for cloze, r in rewrites.items()]
        if not edits:
            raise ValueError("the field 'requested_rewrite' holds no edit")
        document = self.document(f"mquake/hops/{data.case_id}", edits, row, item=data.case_id)
        yield document
        hops = {hop.cloze: hop for hop in data.new_single_hops}
        for number, (cloze, rewrite) in enumerate(rewrites.items(), 1):
            right = [rewrite.target_new.str, *(hops[cloze].answer_alias if cloze in hops else ())]
            wordings: list[tuple[Group, str]] = [("efficacy", query_of(cloze))]
            wordings += [("rephrase", question) for question in rewrite.question]
            for group, query in wordings:
                name, old = f"{group}/{number}", rewrite.target_true.str
                yield from self.probe(document, name, query, right, row, group=group, old_answer=old)
        others = [hop for cloze, hop in hops.items() if cloze not in rewrites]
        premises = tuple(_premise(hop.question, [hop.answer, *hop.answer_alias]) for hop in others)
        answers = [data.new_answer, *data.new_answer_alias]
        more = {"old_answer": data.answer, "premises": premises, "tags": ("multi_hop",)}
        for number, question in enumerate(data.questions, 1):
            yield from self.probe(document, f"hop/{number}", question, answers, row, group="hop", **more)


# ---- RippleEdits ------------------------------------------------------------------------------------------------


class QueryShape(Shape):
    """A query of RippleEdits, or a probe of KnowEdit, with its answers."""

    prompt: Text
    answers: Names = Field(default=(), validation_alias=AliasChoices("answers", "ground_truth"))


class EntryShape(Shape):
    """Queries of a group with what they presuppose."""

    test_queries: Annotated[tuple[QueryShape, ...], Listed] = ()
    condition_queries: Annotated[tuple[QueryShape, ...], Listed] = ()


class RippleProbes(ProbeBenchmark):
    """An edit of RippleEdits with its six groups of queries; what they presuppose is kept as premises.

    Published: a group's queries count together, by OR or AND. Here every query is a probe by itself.
    """

    upstream: ClassVar[Upstream] = RIPPLE
    groups: ClassVar[Mapping[str, Group]] = {
        "Logical_Generalization": "logical",
        "Subject_Aliasing": "alias",
        "Compositionality_I": "hop",
        "Compositionality_II": "hop",
        "Forgetfulness": "forgetfulness",
        "Relation_Specificity": "locality",
    }

    def make(self, row: Row) -> Iterator[RowItem]:
        """The edit, and a probe for every query."""
        words = split_edit(RippleShape.of(row.data).edit, row.data)
        given = GivenEdit(words.subject, words.cloze, words.new)
        document = self.document(f"ripple/probes/{words.key}", [given], row)
        yield document
        own = query_of(given.prompt)
        yield from self.probe(document, "efficacy", own, [given.target], row, group="efficacy", old_answer=words.old)
        for name, spellings in RIPPLE_GROUPS.items():
            listed = [EntryShape.of(entry) for spelling in spellings for entry in row.data.get(spelling) or ()]
            for number, entry in enumerate(listed, 1):
                yield from self._queries(document, f"{slug(name)}/{number}", entry, self.groups[name], row)

    def _queries(self, document: Document, name: str, entry: EntryShape, group: Group, row: Row) -> Iterator[RowItem]:
        premises = tuple(_premise(query_of(c.prompt), c.answers) for c in entry.condition_queries if c.answers)
        more = {"premises": premises, "tags": ("multi_hop",) if group == "hop" else ()}
        for number, asked in enumerate(entry.test_queries, 1):
            query = query_of(asked.prompt)
            yield from self.probe(document, f"{name}/{number}", query, asked.answers, row, group=group, **more)


# ---- KnowEdit ---------------------------------------------------------------------------------------------------


class KnowEditProbes(ProbeBenchmark):
    """A record of KnowEdit with its lists of portability and locality; a passage (WikiBio) states no single fact."""

    upstream: ClassVar[Upstream] = KNOWEDIT
    groups: ClassVar[Mapping[str, Group]] = {
        "Reasoning": "hop",
        "Logical_Generalization": "logical",
        "Subject_Aliasing": "alias",
        "Relation_Specificity": "locality",
        "Forgetfulness": "forgetfulness",
        "Neighborhood": "locality",
    }

    def make(self, row: Row) -> Iterator[RowItem]:
        """The edit, its wordings, and a probe for every entry of a list whose name is known; others are extras."""
        data: KnowEditPassage | KnowEditShape
        if "prompt" in row.data:
            data = KnowEditShape.of(row.data)
            edit = GivenEdit(data.subject, data.prompt, data.target_new)
            document = self.document(f"knowedit/probes/{unique_key_part(*edit)}", [edit], row)
            yield document
            old, own = next(iter(data.ground_truth), None), query_of(edit.prompt)
            yield from self.probe(document, "efficacy", own, [edit.target], row, group="efficacy", old_answer=old)
            for number, prompt in enumerate(data.rephrase_prompt, 1):
                query = query_of(prompt)
                yield from self.probe(document, f"rephrase/{number}", query, [edit.target], row, group="rephrase")
        else:
            data = KnowEditPassage.of(row.data)
            document = Document(
                key=f"knowedit/probes/{unique_key_part(data.concept, data.labels)}",
                text=data.labels,
                entity=data.concept,
                source=self.source(row.number),
            )
            yield document
        for task, groups in (("portability", data.portability), ("locality", data.locality)):
            for name, entries in groups.items():
                yield from self._entries(document, task, name, entries, row)
        yield from rest(document.key, data.others, ("concept", "labels"))

    def _entries(self, document: Document, task: str, name: str, entries: Any, row: Row) -> Iterator[RowItem]:
        group = self.groups.get(name)
        if group is None:
            self.note(f"probes of a list of another name ('{name}'): kept as an extra", row)
            yield from rest(document.key, {name: entries}, name=f"{task}/{name}")
            return
        tags: tuple[Tag, ...] = ("multi_hop",) if group == "hop" else ()
        for number, asked in enumerate(map(QueryShape.of, entries or ()), 1):
            query = query_of(asked.prompt)
            yield from self.probe(document, f"{slug(name)}/{number}", query, asked.answers, row, group=group, tags=tags)


# ---- QAEdit, WikiBigEdit, UltraEditBench ------------------------------------------------------------------------


class QuestionSetShape(Shape):
    """An edit in flat fields: a question, its new answer, rephrasings, and what must stay."""

    id: Any = None
    subject: Text


class QuestionFields(NamedTuple):
    """What a benchmark of questions asks, by the fields of its records.

    Attributes:
        upstream: Where it comes from.
        shape: The record.
        prefix: Beginning of keys.
        edited: Fields of the edit's prompt and of its target.
        asked: The probes beside the edit itself: field of the text or texts, field of the answer (empty: the edit's
            own), group.
        questions: Whether all prompts are questions, also without a question mark.
    """

    upstream: Upstream
    shape: type[QuestionSetShape]
    prefix: str
    edited: tuple[str, str]
    asked: tuple[tuple[str, str, Group], ...]
    questions: bool = True


class QuestionSet(ProbeBenchmark):
    """One edit a row."""

    def __init__(self, fields: QuestionFields, path: Path) -> None:
        super().__init__(path)
        self.upstream, self._fields = fields.upstream, fields  # type: ignore[misc]

    def make(self, row: Row) -> Iterator[RowItem]:
        """The edit, its probes, and an extra with what they do not carry."""
        fields, data = self._fields, self._fields.shape.of(row.data)
        edit = GivenEdit(data.subject, *(getattr(data, field) for field in fields.edited))
        document = self.document(f"{fields.prefix}/{unique_key_part(*edit)}", [edit], row, item=data.id)
        yield document
        own = query_of(edit.prompt, question=fields.questions)
        yield from self.probe(document, "efficacy", own, [edit.target], row, group="efficacy")
        for field, answer, group in fields.asked:
            answers = getattr(data, answer) if answer else (edit.target,)
            for number, prompt in enumerate(getattr(data, field), 1):
                query = query_of(prompt, question=fields.questions)
                yield from self.probe(document, f"{field}/{number}", query, answers, row, group=group)
        for number, other in enumerate(getattr(data, "locality", ()), 1):
            yield from self.probe(document, f"locality/{number}", other.loc, other.loc_ans, row, group="locality")
        yield from rest(document.key, data.others)


class LocalityShape(Shape):
    """A question whose answer must stay."""

    loc: Text
    loc_ans: Names = ()


class QaEditShape(QuestionSetShape):
    """QAEdit (Yang et al., 2025): questions of NQ, TriviaQA and SimpleQA that models answer wrongly."""

    prompt: Text
    target: Text
    rephrase: Texts = ()
    locality: Annotated[tuple[LocalityShape, ...], Listed] = ()


class WikiBigEditShape(QuestionSetShape):
    """WikiBigEdit (Thede et al., 2025): changes of Wikidata as questions, with personas and hops of two steps.

    A record as released, or (``src``, ``alt``, ``genv2_...``) as the benchmark's own pipeline writes it. The released
    files write the bare word NaN where something is missing: it is read as null.
    """

    update: Text = Field(validation_alias=AliasChoices("update", "src"))
    ans: Text = Field(validation_alias=AliasChoices("ans", "alt"))
    rephrase: Texts = ()
    personas: Texts = ()
    mhop: Texts = ()
    mhop_ans: Names = ()
    loc: Texts = ()
    loc_ans: Names = ()

    @model_validator(mode="before")
    @classmethod
    def _as_released(cls, data: Any) -> Any:
        """The questions of personas, which the pipeline writes under a name each, as one list."""
        if not isinstance(data, dict) or "update" in data:
            return data
        personas = [text for name, text in data.items() if name.startswith("genv2_") and text is not None]
        return {k: v for k, v in data.items() if not k.startswith("genv2_")} | {"personas": personas}


class UltraEditShape(QuestionSetShape):
    """UltraEditBench (Gu et al., 2025): two million edits of Wikidata with one rephrasing and one locality prompt."""

    prompt: Text
    ans: Text
    rephrase_prompt: Texts = ()
    loc: Texts = ()
    loc_ans: Names = ()


_LOCALITY: tuple[str, str, Group] = ("loc", "loc_ans", "locality")
QA_EDIT = QuestionFields(QAEDIT, QaEditShape, "qaedit", ("prompt", "target"), (("rephrase", "", "rephrase"),))
WIKI_BIG_EDIT = QuestionFields(
    WIKIBIGEDIT,
    WikiBigEditShape,
    "wikibigedit",
    ("update", "ans"),
    (("rephrase", "", "rephrase"), ("personas", "", "persona"), ("mhop", "mhop_ans", "hop"), _LOCALITY),
)
ULTRA_EDIT = QuestionFields(
    ULTRAEDITBENCH,
    UltraEditShape,
    "ultraeditbench",
    ("prompt", "ans"),
    (("rephrase_prompt", "", "rephrase"), _LOCALITY),
    questions=False,
)


# ---- UniEdit (Chen et al., 2025) --------------------------------------------------------------------------------

EDIT = ["h_e", "r_e", "t_e"]
"""The step that is the edit: subject, relation, object."""
YES_OR_NO = " The answer is (Yes/No):"
"""What the published evaluation puts after a prompt that compares two chains."""


class LabelShape(Shape):
    """An entity or a property of Wikidata."""

    id: str | None = None
    label: str | None = None
    aliases: Any = None


class TailShape(Shape):
    """The object of a step."""

    datatype: str | None = None
    value: Any = None


class BackwardShape(Shape):
    """A step as it is asked the other way round."""

    prompt: Text
    target: Text


class ForwardShape(BackwardShape):
    """A triple of Wikidata as it is asked."""

    head_entity: Annotated[LabelShape, OrEmpty] = LabelShape()
    relation: Annotated[LabelShape, OrEmpty] = Field(default=LabelShape(), alias="property")


class UniEditEdit(ForwardShape):
    """The edit of a record."""

    subject: Text


class StepShape(ForwardShape):
    """A step of a chain."""

    subject: str | None = None
    path: list[str] | None = None
    tail_entity: Annotated[TailShape, OrEmpty] = TailShape()
    reverse_in_multi_hop: bool | None = None
    reversed: BackwardShape | None = None

    @property
    def premise(self) -> Premise:
        """The step in the direction in which the chain walks it: backward where the source says so and how."""
        asked = self.reversed if self.reverse_in_multi_hop and self.reversed is not None else self
        return _premise(query_of(asked.prompt), [asked.target])

    @property
    def has_alias(self) -> bool:
        """Whether it calls its subject or its object by another name than the usual one."""
        value = self.tail_entity.value if self.tail_entity.datatype == "wikibase-item" else None
        names = value if isinstance(value, dict) else {}
        other_subject = bool(self.head_entity.aliases) and self.subject != self.head_entity.label
        return other_subject or (bool(names.get("aliases")) and self.target != names.get("label"))


class ChainShape(Shape):
    """Steps through Wikidata, and how each is walked: forward (f) or backward (b)."""

    one_hops: tuple[StepShape, ...]
    paths: tuple[list[str], ...]


class AskedShape(Shape):
    """A probe: one chain, or two whose ends are compared."""

    prompt: Text
    target: Names = ()
    path_type: str

    def chains(self) -> list[ChainShape]:
        """The chains."""
        sides = ("single_path1", "single_path2") if self.path_type == "double" else ()
        return [ChainShape.of(self.others.get(side)) for side in sides] or [ChainShape.of(self.others)]


class UniEditShape(Shape):
    """A record: a file a discipline holds them by name."""

    id: Any = None
    edit: UniEditEdit
    generality: Annotated[dict[str, AskedShape], OrEmpty, Field(default_factory=dict)]
    locality: Annotated[dict[str, AskedShape], OrEmpty, Field(default_factory=dict)]


class UniEdit(ProbeBenchmark):
    """One edit a row, and its chains as probes; the steps of a chain beside the edit are its premises.

    Which consequence a probe asks for is told by its ``paths`` as in the published evaluation.
    """

    upstream: ClassVar[Upstream] = UNIEDIT

    def make(self, row: Row) -> Iterator[RowItem]:
        """The edit, its probes, and an extra with what they do not carry."""
        data = UniEditShape.of(row.data)
        edit = GivenEdit(data.edit.subject, data.edit.prompt, data.edit.target)
        name = f"{slug(self.named.stem)}/{row.number if data.id is None else data.id}"
        document = self.document(f"uniedit/{name}/{unique_key_part(*edit)}", [edit], row, item=name)
        yield document
        yield from self.probe(document, "efficacy", query_of(edit.prompt), [edit.target], row, group="efficacy")
        for number, asked in data.generality.items():
            yield from self._chain(document, f"generality/{number}", asked, None, row)
        for number, asked in data.locality.items():
            yield from self._chain(document, f"locality/{number}", asked, data.edit, row)
        yield from rest(document.key, data.others)

    def _chain(
        self, document: Document, name: str, asked: AskedShape, kept: UniEditEdit | None, row: Row
    ) -> Iterator[RowItem]:
        """A probe of generality, or (``kept``) of what an edit leaves alone."""
        chains, compares = asked.chains(), asked.path_type == "double"
        steps = [step for chain in chains for step in chain.one_hops]
        hops = any(len(chain.paths) >= 2 for chain in chains)
        backward = any(path[:4] == ["t_e", "r_e", "h_e", "b"] for chain in chains for path in chain.paths)
        group: Group = "locality" if kept else "rephrase"
        if kept and kept.head_entity.id is not None and kept.relation.id is not None:
            own = [s for s in steps if (s.head_entity.id, s.relation.id) == (kept.head_entity.id, kept.relation.id)]
            group = "forgetfulness" if own else group
        elif not kept and hops:
            group = "hop"
        elif not kept and (compares or backward):
            group = "logical"
        elif not kept and any(step.has_alias for step in steps if step.path == EDIT):
            group = "alias"
        found = {"multi_hop": hops, "reverse": backward, "comparison": compares}
        query = asked.prompt + YES_OR_NO if compares else query_of(asked.prompt)
        premises = () if kept else tuple(step.premise for step in steps if step.path != EDIT)
        tags = tuple(tag for tag, holds in found.items() if holds)
        yield from self.probe(document, name, query, asked.target, row, group=group, premises=premises, tags=tags)


load_mquake_hops = Loader("mquake-hops", MquakeHops)
load_ripple_probes = Loader("ripple-probes", RippleProbes)
load_knowedit_probes = Loader("knowedit-probes", KnowEditProbes, read=tasks)
load_qaedit = Loader("qaedit", partial(QuestionSet, QA_EDIT))
load_wikibigedit = Loader("wikibigedit", partial(QuestionSet, WIKI_BIG_EDIT), read=partial(rows, nan_as_null=True))
load_ultraeditbench = Loader("ultraeditbench", partial(QuestionSet, ULTRA_EDIT))
load_uniedit = Loader("uniedit", UniEdit, read=tasks)
