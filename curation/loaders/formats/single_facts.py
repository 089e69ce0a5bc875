"""Published formats with one fact a record: CounterFact, zsRE, MQuAKE, KnowEdit, known_1000, lists of relations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from curation.loaders.base import FormatReader, InvalidRecord, Loader, NeighbourFact, Problem, Row, RowItem
from curation.loaders.reading import rows
from curation.loaders.shapes import (
    Id,
    Listed,
    Names,
    OrEmpty,
    Rewrite,
    Shape,
    Text,
    Texts,
    flat_strings,
    kind_of,
    relation_of,
    rest,
    template,
    unique_key_part,
    wikidata,
)
from curation.loaders.sources import COUNTERFACT, KNOWEDIT, KNOWN_1000, MQUAKE, RELATIONS, ZSRE
from schemas.core.ids import slug
from schemas.core.records import Record
from schemas.extras import Extra
from schemas.facts import Entity, Fact, Neighbour, Object, Relation
from schemas.text.control_tokens import control_token

# ---- CounterFact (Meng et al., 2022; MIT) -----------------------------------------------------------------------


class CounterFactShape(Shape):
    """A record as released with ROME; the grouped files differ only in what is empty."""

    case_id: Id
    requested_rewrite: Rewrite
    paraphrase_prompts: Texts = ()
    neighborhood_prompts: Texts = ()


class CounterFactOriginal(FormatReader):
    """Attribute prompts (subjects that have the new object), generation prompts and ``pararel_idx`` go to an extra."""

    upstream = COUNTERFACT

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact, and an extra with what it does not carry."""
        data = CounterFactShape.of(row.data)
        edit = data.requested_rewrite
        fact = Fact(
            key=f"counterfact/{data.case_id}",
            subject=Entity(text=edit.subject),
            relation=Relation(id=edit.relation_id),
            prompt=edit.prompt,
            old=edit.target_true.object,
            new=edit.target_new.object,
            paraphrases=data.paraphrase_prompts,
            neighbour_prompts=data.neighborhood_prompts,
            source=self.source(data.case_id),
        )
        yield fact
        yield from rest(fact.key, data.others)


class CounterFactFlatShape(Shape):
    """A record of the flat files: one prompt, one paraphrase, one neighbour prompt."""

    case_id: Id
    prompt: Text
    subject: Text
    ground_truth: Text
    target_new: Text
    rephrase_prompt: Texts = ()
    locality_prompt: Texts = ()


class CounterFactFlat(FormatReader):
    """The records have no relation id, so the template names the relation."""

    upstream = COUNTERFACT

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact, and an extra with what it does not carry."""
        data = CounterFactFlatShape.of(row.data)
        prompt = template(data.prompt, data.subject)
        fact = Fact(
            key=f"counterfact/{data.case_id}",
            subject=Entity(text=data.subject),
            relation=Relation(id=relation_of(prompt), label=prompt),
            prompt=prompt,
            old=Object(text=data.ground_truth),
            new=Object(text=data.target_new),
            paraphrases=data.rephrase_prompt,
            neighbour_prompts=data.locality_prompt,
            source=self.source(data.case_id),
        )
        yield fact
        beside = row.data.get("locality_ground_truth")
        same = isinstance(beside, str) and beside.strip() == data.ground_truth
        if beside is not None and not same:
            what = f"the neighbour's object is {beside!r}, not the old object {data.ground_truth!r}"
            yield row.problem("contradictory", what)
        yield from rest(fact.key, data.others, ["locality_ground_truth"] if same else ())


# ---- zsRE (Levy et al., 2017, in the copies that MEND and EasyEdit edit with) -----------------------------------


class ZsreShape(Shape):
    """``answers`` are the old object and its aliases, ``alt`` is the new one."""

    subject: Text
    src: Text
    alt: Text
    answers: Texts
    rephrase: Texts = ()


class Zsre(FormatReader):
    """Question prompts. The records have no id: keys hash subject and question.

    ``pred`` is what some model answered before the edit: it is no truth and stays in the extra, with the unrelated
    question (``loc``) and the portability question.
    """

    upstream = ZSRE

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact, and extras with the other probes."""
        data = ZsreShape.of(row.data)
        answers = tuple(dict.fromkeys(data.answers))
        if not answers:
            raise ValueError("the field 'answers' holds no old object")
        _refuse_same(data.alt, answers)
        prompt = template(data.src, data.subject)
        fact = Fact(
            key=f"zsre/{unique_key_part(data.subject, data.src)}",
            subject=Entity(text=data.subject),
            relation=Relation(id=relation_of(prompt), label=prompt),
            prompt=prompt,
            old=Object(text=answers[0], aliases=answers[1:]),
            new=Object(text=data.alt),
            paraphrases=data.rephrase,
            source=self.source(row.number),
        )
        yield fact
        cond, pred = row.data.get("cond"), row.data.get("pred")
        if isinstance(pred, str) and pred.strip() not in answers:
            what = "'pred', the old side of 'cond', is none of the right answers (the old object is)"
            self.note(what, row, kind="suspect")
        usual = cond == f"{pred} >> {row.data['alt']} || {row.data['src']}"
        if cond is not None and not usual:
            yield row.problem("contradictory", "the field 'cond' does not repeat pred, alt and src")
        yield from rest(fact.key, data.others, ["cond"] if usual else ())


def _refuse_same(new: str, answers: tuple[str, ...]) -> None:
    if new.casefold() in (answer.casefold() for answer in answers):
        raise InvalidRecord(f"the new object {new!r} is among the right answers: nothing would be edited")


# ---- MQuAKE (Zhong et al., 2023; MIT) ---------------------------------------------------------------------------


class MquakeRewrite(Rewrite):
    """An edit; MQuAKE-Remastered (Zhong et al., 2024) writes an object flat: ``target_new_str``."""

    question: Texts = ()

    @model_validator(mode="before")
    @classmethod
    def _nested(cls, data: Any) -> Any:
        flat = [field for field in ("target_true", "target_new") if isinstance(data, dict) and f"{field}_str" in data]
        nested = {name: {"str": data[f"{name}_str"], "id": data.get(f"{name}_id")} for name in flat}
        return {**nested, **data} if nested else data


class MquakeShape(Shape):
    """A case of one to four edits."""

    case_id: Id
    requested_rewrite: Annotated[tuple[MquakeRewrite, ...], Listed]


class Mquake(FormatReader):
    """Every distinct edit is one fact, however many cases need it; the whole case is an extra that names its facts.

    Two cases that turn one fact into different new objects cannot be edited together: that is ``contradictory``.
    """

    upstream = MQUAKE

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._facts: dict[str, Fact] = {}
        self._cases: set[str] = set()

    def make(self, row: Row) -> Iterator[RowItem]:
        """The case's edits that are new, and the case."""
        data = MquakeShape.of(row.data)
        if data.case_id in self._cases:
            yield row.problem("duplicate", f"the case {data.case_id} stands twice")
            return
        if not data.requested_rewrite:
            raise ValueError("the field 'requested_rewrite' holds no edit")
        facts = [self._fact(edit) for edit in data.requested_rewrite]
        self._cases.add(data.case_id)
        for fact in facts:
            if self._facts.setdefault(fact.key, fact) is fact:
                yield fact
            elif self._facts[fact.key] != fact:
                yield row.problem("contradictory", f"an earlier case has the edit '{fact.key}' with another prompt")
        first, *others = dict.fromkeys(f.key for f in facts)
        case = f"mquake/case/{data.case_id}"
        yield Extra.holding(case, row.data, subject_key=first, depends_on=tuple(others), name="multi_hop")

    def _fact(self, edit: MquakeRewrite) -> Fact:
        objects = edit.target_true.str, edit.target_new.str
        return Fact(
            key=f"mquake/{edit.relation_id}/{unique_key_part(edit.subject, edit.relation_id, *objects)}",
            subject=Entity(text=edit.subject),
            relation=Relation(id=edit.relation_id),
            prompt=edit.prompt,
            old=edit.target_true.object,
            new=edit.target_new.object,
            source=self.source(),
        )


# ---- KnowEdit (Zhang et al., 2024; MIT) -------------------------------------------------------------------------

_REPEATED = {"Reasoning": "Script", "Relation_Specificity": "Neighbour"}
"""Lists that our own export writes a second time under EasyEdit's names, with the name of the first."""
Groups = Annotated[dict[str, Any], OrEmpty, Field(default_factory=dict)]
"""Lists of probes by name."""


def tasks(path: Path) -> Iterator[Row | Problem]:
    """Rows, where an object that maps names to whole records counts as one row for each."""
    for row in rows(path):
        if isinstance(row, Problem) or {"prompt", "text", "edit"} & row.data.keys():
            yield row
            continue
        for number, (name, data) in enumerate(row.data.items(), 1):
            where = f"{row.where}, {name}"
            if isinstance(data, dict):
                yield Row(where, {"id": name, **data} if "edit" in data else data, number)
            else:
                yield Problem(where, "malformed", f"a record is expected, not {kind_of(data)}")


class KnowEditPassage(Shape):
    """A passage of WikiBio to edit in; it states no single fact."""

    concept: Text
    labels: Text
    portability: Groups
    locality: Groups


class KnowEditShape(Shape):
    """An edit with its probes. ``ground_truth`` is a text, a list, or a list of alias lists."""

    subject: Text
    prompt: Text
    target_new: Text
    ground_truth: Names = ()
    rephrase_prompt: Texts = ()
    portability: Groups
    locality: Groups


class KnowEdit(FormatReader):
    """A record a row; one object that maps task names to records (as the documentation prints them) is as many rows.

    Where there is no ``ground_truth`` (recent facts) there is no old object: the new one is kept as a fact that is not
    to be edited. Passages are extras only. Each group of probes is an extra, word for word; one that repeats another
    under a second name, as in our own export, is taken once.
    """

    upstream = KNOWEDIT

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact or facts, and the probes."""
        if "prompt" not in row.data:
            passage = KnowEditPassage.of(row.data)
            key = f"knowedit/passage/{unique_key_part(passage.concept, passage.labels)}"
            self.note("a passage to edit in, no fact (kept as an extra)", row)
            yield from rest(key, row.data, ("portability", "locality"), name="passage")
            yield from _groups(key, passage)
            return
        data = KnowEditShape.of(row.data)
        fact = self._fact(data, row)
        yield fact
        yield from rest(fact.key, data.others)
        yield from _groups(fact.key, data)

    def _fact(self, data: KnowEditShape, row: Row) -> Fact:
        prompt = template(data.prompt, data.subject)
        names = tuple(n for n in data.ground_truth if not control_token(n))  # a filler
        if not names:
            self.note("no old object: kept as a fact that is not to be edited", row)
        _refuse_same(data.target_new, names)
        return Fact(
            key=f"knowedit/{unique_key_part(data.subject, prompt, data.target_new)}",
            subject=Entity(text=data.subject),
            relation=Relation(id=relation_of(prompt), label=prompt),
            prompt=prompt,
            old=Object(text=names[0], aliases=names[1:]) if names else Object(text=data.target_new),
            new=Object(text=data.target_new) if names else None,
            change="counterfactual" if names else "none",
            paraphrases=data.rephrase_prompt,
            source=self.source(row.number),
        )


def _groups(key: str, data: KnowEditPassage | KnowEditShape) -> Iterator[Record]:
    for task, groups in (("locality", data.locality), ("portability", data.portability)):
        for name, probes in groups.items():
            if probes and not _says_the_same(probes, groups.get(_REPEATED.get(name, ""))):
                whole = f"{task}/{name}"
                yield Extra.holding(f"{key}/extra/{slug(whole)}", probes, subject_key=key, name=whole)


def _says_the_same(probes: Any, first: Any) -> bool:
    """Whether one list of probes repeats another: the same prompts with the same answers, however they are nested."""

    def flat(listed: Any) -> list[Any]:
        return [
            (p["prompt"], list(flat_strings(p["ground_truth"])))
            if isinstance(p, dict) and p.keys() == {"prompt", "ground_truth"}
            else object()
            for p in listed
        ]

    return isinstance(probes, list) and isinstance(first, list) and flat(probes) == flat(first)


# ---- known_1000 (Meng et al., 2022; MIT) ------------------------------------------------------------------------


class Known1000Shape(Shape):
    """A fact that a model knows."""

    known_id: Id
    subject: Text
    attribute: Text
    prompt: Text
    relation_id: Text
    template: Text


class Known1000(FormatReader):
    """The filled-in ``prompt`` is the fact prompt, since the object follows it; ``template`` may lack its last words.

    There is no new object. Template and the prediction of GPT-2 XL go to an extra.
    """

    upstream = KNOWN_1000

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact, and an extra with what it does not carry."""
        data = Known1000Shape.of(row.data)
        fact = Fact(
            key=f"known-1000/{data.known_id}",
            subject=Entity(text=data.subject),
            relation=Relation(id=data.relation_id),
            prompt=template(data.prompt, data.subject),
            old=Object(text=data.attribute),
            change="none",
            source=self.source(data.known_id),
        )
        yield fact
        if data.template.replace("{}", data.subject) != data.prompt:
            self.note("the template lacks words that the prompt has before the object", row, kind="suspect")
        yield from rest(fact.key, {**data.others, "template": row.data["template"]})


# ---- relation lists (Hernandez et al., 2024; MIT), and the editable facts derived from them ---------------------


class RelationShape(Shape):
    """What all pairs of a list share."""

    name: Text
    prompt_templates: Texts


class PairShape(Shape):
    """A pair of a list."""

    subject: Text
    object: Text


def pairs(path: Path) -> Iterator[Row | Problem]:
    """The pairs of a relation list, each with its number; the first row is the relation itself."""
    for row in rows(path):
        if isinstance(row, Problem):
            yield row
            continue
        if not isinstance(row.data.get("samples"), list):
            yield row.problem("malformed", "the field 'samples' with subject and object pairs is missing")
            return
        yield row._replace(data={k: v for k, v in row.data.items() if k != "samples"}, number=0)
        for number, pair in enumerate(row.data["samples"], 1):
            where = f"{path}, sample {number}"
            if isinstance(pair, dict):
                yield Row(where, pair, number)
            else:
                yield Problem(where, "malformed", f"an object is expected, not {kind_of(pair)}")


class RelationList(FormatReader):
    """Facts without a new object; the first template is the fact prompt, the others are paraphrases.

    A subject may have several objects: that is ``contradictory`` as far as editing goes, and both facts are kept.
    """

    upstream = RELATIONS

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._shared: RelationShape | None = None
        self._about: dict[str, Any] = {}

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact of one pair; with the first one, an extra about the relation."""
        if not row.number:
            self._about, self._shared = row.data, RelationShape.of(row.data)
            return
        if self._shared is None or not self._shared.prompt_templates:
            raise ValueError("the relation has no prompt template")
        pair = PairShape.of(row.data)
        prompt, *others = self._shared.prompt_templates
        name = self.named.stem
        fact = Fact(
            key=f"relations/{name}/{unique_key_part(pair.subject, pair.object)}",
            subject=Entity(text=pair.subject),
            relation=Relation(id=name, label=self._shared.name),
            prompt=prompt,
            old=Object(text=pair.object),
            paraphrases=tuple(t.replace("{}", pair.subject) for t in others),
            change="none",
            source=self.source(name),
        )
        yield fact
        if self._about:
            yield Extra.holding(f"relations/{name}/about", self._about, subject_key=fact.key, name="relation")
            self._about = {}


class FactsDevShape(Shape):
    """An editable fact made of a relation list."""

    id: Text
    relation: Text
    relation_id: Any = None
    subject: Text
    prompt_template: Text
    target_true: Text
    target_new: Text
    neighbours: Texts = ()


class FactsDev(FormatReader):
    """Templates, both objects, and subjects that share the old object."""

    upstream = RELATIONS

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact, its neighbour facts and links, and an extra with what else there is."""
        data = FactsDevShape.of(row.data)
        beside, prompt = list(dict.fromkeys(data.neighbours)), data.prompt_template
        relation = Relation(id=wikidata(data.relation_id, "P") or data.relation, label=data.relation.replace("_", " "))
        old = Object(text=data.target_true)
        yield Fact(
            key=data.id,
            subject=Entity(text=data.subject),
            relation=relation,
            prompt=prompt,
            old=old,
            new=Object(text=data.target_new),
            neighbour_prompts=tuple(prompt.replace("{}", n) for n in beside),
            source=self.source(data.id),
        )
        yield from rest(data.id, data.others)
        for near in beside:
            fact = Fact(
                key=f"facts-dev/near/{data.relation}/{unique_key_part(near, old.text)}",
                subject=Entity(text=near),
                relation=relation,
                prompt=prompt,
                old=old,
                change="none",
                source=self.source(data.relation),
            )
            yield NeighbourFact(fact)
            yield Neighbour(key=f"{data.id}~{fact.key}", edit=data.id, fact=fact.key, how="same_object")


load_counterfact = Loader("counterfact", CounterFactOriginal)
load_counterfact_flat = Loader("counterfact-flat", CounterFactFlat)
load_zsre = Loader("zsre", Zsre)
load_mquake = Loader("mquake", Mquake)
load_knowedit = Loader("knowedit", KnowEdit, read=tasks)
load_known = Loader("known-1000", Known1000)
load_relations = Loader("relations", RelationList, read=pairs)
load_facts_dev = Loader("facts-dev", FactsDev)
