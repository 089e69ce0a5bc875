"""The probes of MQuAKE, RippleEdits and KnowEdit as cases: edits with what follows from them and what must stay.

The formats ``mquake``, ``ripple`` and ``knowedit`` read the same files as facts, and keep these probes as extras.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from curation.loaders.base import Loader, Problem, Row, RowItem
from curation.loaders.fields import id_of, rest, strings, text_of, unique_key_part
from curation.loaders.formats.knowedit import tasks
from curation.loaders.formats.mquake import target
from curation.loaders.formats.probes.base import GivenEdit, ProbeBenchmark, flat_strings, query_of
from curation.loaders.formats.ripple_edits import GROUPS as RIPPLE_GROUPS
from curation.loaders.formats.ripple_edits import split_edit
from curation.loaders.sources import KNOWEDIT, MQUAKE, RIPPLE, Upstream
from schemas.core.ids import slug
from schemas.documents.document import Document
from schemas.documents.statement import Group, Premise


class MquakeHops(ProbeBenchmark):
    """A case of MQuAKE is one edit of all its facts, and its questions are hops.

    The other steps of the new chain, which the case does not edit, are the premises.
    """

    upstream: ClassVar[Upstream] = MQUAKE

    def make(self, row: Row) -> Iterator[RowItem]:
        """The edits together, a probe in two wordings for each, and the questions over all of them."""
        data = row.data
        rewrites = {_filled(r): r for r in data["requested_rewrite"]}
        edits = [GivenEdit(text_of(r, "subject"), cloze, _name(r, "target_new")) for cloze, r in rewrites.items()]
        if not edits:
            raise ValueError("the field 'requested_rewrite' holds no edit")
        document = self.document(f"mquake/hops/{id_of(data, 'case_id')}", edits, row, item=data["case_id"])
        yield document
        hops = {hop["cloze"].strip(): hop for hop in data.get("new_single_hops") or ()}
        for number, (edit, rewrite) in enumerate(zip(edits, rewrites.values(), strict=True), 1):
            right = [edit.target, *strings(hops.get(edit.prompt, {}).get("answer_alias"))]
            old = _name(rewrite, "target_true")
            wordings: list[tuple[Group, str]] = [("efficacy", query_of(edit.prompt))]
            wordings += [("rephrase", question) for question in strings(rewrite.get("question"))]
            for group, query in wordings:
                yield from self.probe(document, f"{group}/{number}", query, right, row, group=group, old_answer=old)
        others = [hop for cloze, hop in hops.items() if cloze not in rewrites]
        premises = [_premise(hop["question"], [hop["answer"], *strings(hop.get("answer_alias"))]) for hop in others]
        answers = [text_of(data, "new_answer"), *strings(data.get("new_answer_alias"))]
        for number, question in enumerate(strings(data.get("questions")), 1):
            yield from self.probe(
                document,
                f"hop/{number}",
                question,
                answers,
                row,
                group="hop",
                old_answer=text_of(data, "answer"),
                premises=premises,
                tags=("multi_hop",),
            )


def _filled(rewrite: dict[str, Any]) -> str:
    return text_of(rewrite, "prompt").replace("{}", text_of(rewrite, "subject"))


def _name(rewrite: dict[str, Any], field: str) -> str:
    return text_of(target(rewrite, field), "str")


def _premise(query: str, answers: list[str]) -> Premise:
    return Premise(query=query.strip(), answers=tuple(dict.fromkeys(a.strip() for a in answers)))


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
        data, edit = row.data, row.data["edit"]
        words = split_edit(data)
        given = GivenEdit(words.subject, words.cloze, words.new)
        key = f"ripple/probes/{edit['subject_id']}/{edit['relation']}/{edit.get('target_id') or slug(words.new)}"
        document = self.document(key, [given], row)
        yield document
        own = query_of(given.prompt)
        yield from self.probe(document, "efficacy", own, [given.target], row, group="efficacy", old_answer=words.old)
        for name, spellings in RIPPLE_GROUPS.items():
            listed = [entry for spelling in spellings for entry in data.get(spelling) or ()]
            for number, entry in enumerate(listed, 1):
                yield from self._queries(document, f"{slug(name)}/{number}", entry, self.groups[name], row)

    def _queries(
        self, document: Document, name: str, entry: dict[str, Any], group: Group, row: Row
    ) -> Iterator[RowItem]:
        conditions = [(text_of(c, "prompt"), list(flat_strings(c.get("answers")))) for c in _conditions(entry)]
        premises = [_premise(query_of(prompt), right) for prompt, right in conditions if right]
        for number, query in enumerate(entry.get("test_queries") or (), 1):
            yield from self.probe(
                document,
                f"{name}/{number}",
                query_of(text_of(query, "prompt")),
                flat_strings(query.get("answers")),
                row,
                group=group,
                premises=premises,
                tags=("multi_hop",) if group == "hop" else (),
            )


def _conditions(entry: dict[str, Any]) -> list[dict[str, Any]]:
    return list(entry.get("condition_queries") or ())


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
        data = row.data
        if "prompt" not in data:
            concept, text = text_of(data, "concept"), text_of(data, "labels")
            document = Document(
                key=f"knowedit/probes/{unique_key_part(concept, text)}",
                text=text,
                entity=concept,
                source=self.upstream.source(row.number),
            )
            yield document
        else:
            edit = GivenEdit(text_of(data, "subject"), text_of(data, "prompt"), text_of(data, "target_new"))
            document = self.document(f"knowedit/probes/{unique_key_part(*edit)}", [edit], row)
            yield document
            old = next(flat_strings(data.get("ground_truth")), None)
            own = query_of(edit.prompt)
            yield from self.probe(document, "efficacy", own, [edit.target], row, group="efficacy", old_answer=old)
            for number, prompt in enumerate(strings(data.get("rephrase_prompt")), 1):
                query = query_of(prompt)
                yield from self.probe(document, f"rephrase/{number}", query, [edit.target], row, group="rephrase")
        for task in ("portability", "locality"):
            for name, entries in (data.get(task) or {}).items():
                yield from self._entries(document, task, name, entries, row)
        yield from rest(
            document.key,
            data,
            ("subject", "prompt", "target_new", "ground_truth", "rephrase_prompt", "concept", "labels", "portability",
             "locality"),
        )  # fmt: skip

    def _entries(self, document: Document, task: str, name: str, entries: Any, row: Row) -> Iterator[RowItem | Problem]:
        group = self.groups.get(name)
        if group is None:
            self._tally.add(f"probes of a list of another name ('{name}'): kept as an extra", row)
            yield from rest(document.key, {name: entries}, (), name=f"{task}/{name}")
            return
        for number, entry in enumerate(entries or (), 1):
            yield from self.probe(
                document,
                f"{slug(name)}/{number}",
                query_of(text_of(entry, "prompt")),
                flat_strings(entry.get("ground_truth")),
                row,
                group=group,
                tags=("multi_hop",) if group == "hop" else (),
            )


load_mquake_hops = Loader("mquake-hops", MquakeHops)
load_ripple_probes = Loader("ripple-probes", RippleProbes)
load_knowedit_probes = Loader("knowedit-probes", KnowEditProbes, read=tasks)
