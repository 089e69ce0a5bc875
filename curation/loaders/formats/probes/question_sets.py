"""QAEdit, WikiBigEdit and UltraEditBench: a question, its new answer, rephrasings, and what must stay.

None of the three names an old object, so their edits are documents with a statement, not facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple

from curation.loaders.base import Loader, Row, RowItem
from curation.loaders.fields import rest, strings, text_of, unique_key_part
from curation.loaders.formats.probes.base import GivenEdit, ProbeBenchmark, flat_strings, query_of
from curation.loaders.reading import rows
from curation.loaders.sources import QAEDIT, ULTRAEDITBENCH, WIKIBIGEDIT, Upstream
from schemas.documents.statement import Group


class FieldProbe(NamedTuple):
    """A probe that two fields of a record hold.

    Attributes:
        prompt: Field of its text, or of several.
        answer: Field of its answer; empty for the edit's own.
        group: Which consequence it asks for.
    """

    prompt: str
    answer: str
    group: Group


class QuestionSet(ProbeBenchmark):
    """One edit a row, in flat fields.

    Attributes:
        prefix: Beginning of keys.
        prompt: Field of the edit's prompt.
        target: Field of its target.
        asked: The probes beside the edit itself.
        questions: Whether all prompts are questions, also without a question mark.
    """

    prefix: ClassVar[str]
    prompt: ClassVar[str]
    target: ClassVar[str]
    asked: ClassVar[tuple[FieldProbe, ...]]
    questions: ClassVar[bool] = True

    def make(self, row: Row) -> Iterator[RowItem]:
        """The edit, its probes, and an extra with what they do not carry."""
        data = row.data
        edit = GivenEdit(text_of(data, "subject"), text_of(data, self.prompt), text_of(data, self.target))
        document = self.document(f"{self.prefix}/{unique_key_part(*edit)}", [edit], row, item=data.get("id"))
        yield document
        own = query_of(edit.prompt, question=self.questions)
        yield from self.probe(document, "efficacy", own, [edit.target], row, group="efficacy")
        for field in self.asked:
            answer = data.get(field.answer) if field.answer else edit.target
            for number, prompt in enumerate(strings(data.get(field.prompt)), 1):
                query = query_of(prompt, question=self.questions)
                name = f"{field.prompt}/{number}"
                yield from self.probe(document, name, query, flat_strings(answer), row, group=field.group)
        yield from self._further(document, data, row)
        carried = {"subject", "id", self.prompt, self.target, *(name for f in self.asked for name in f[:2])}
        yield from rest(document.key, data, carried | self._more)

    _more: ClassVar[frozenset[str]] = frozenset()

    def _further(self, document: Any, data: dict[str, Any], row: Row) -> Iterable[RowItem]:
        """Probes that stand in lists of their own."""
        return ()


class QaEdit(QuestionSet):
    """QAEdit (Yang et al., 2025): questions of NQ, TriviaQA and SimpleQA that models answer wrongly."""

    upstream: ClassVar[Upstream] = QAEDIT
    prefix: ClassVar[str] = "qaedit"
    prompt: ClassVar[str] = "prompt"
    target: ClassVar[str] = "target"
    asked: ClassVar[tuple[FieldProbe, ...]] = (FieldProbe("rephrase", "", "rephrase"),)
    _more: ClassVar[frozenset[str]] = frozenset({"locality"})

    def _further(self, document: Any, data: dict[str, Any], row: Row) -> Iterable[RowItem]:
        for number, asked in enumerate(data.get("locality") or (), 1):
            query, answers = text_of(asked, "loc"), flat_strings(asked.get("loc_ans"))
            yield from self.probe(document, f"locality/{number}", query, answers, row, group="locality")


class WikiBigEdit(QuestionSet):
    """WikiBigEdit (Thede et al., 2025): changes of Wikidata as questions, with personas and hops of two steps.

    The released files write the bare word NaN where something is missing: it is read as null. What the benchmark's own
    pipeline writes has other names for three fields.
    """

    upstream: ClassVar[Upstream] = WIKIBIGEDIT
    prefix: ClassVar[str] = "wikibigedit"
    prompt: ClassVar[str] = "update"
    target: ClassVar[str] = "ans"
    asked: ClassVar[tuple[FieldProbe, ...]] = (
        FieldProbe("rephrase", "", "rephrase"),
        FieldProbe("personas", "", "persona"),
        FieldProbe("mhop", "mhop_ans", "hop"),
        FieldProbe("loc", "loc_ans", "locality"),
    )

    def make(self, row: Row) -> Iterator[RowItem]:
        """As of every question set, of either shape."""
        if "src" in row.data and "update" not in row.data:
            row = row._replace(data=_as_released(row.data))
        yield from super().make(row)


PERSONA = "genv2_"
"""What the pipeline's names of persona questions begin with."""


def _as_released(data: dict[str, Any]) -> dict[str, Any]:
    """A record of the pipeline under the released names."""
    names = {"src": "update", "alt": "ans"}
    personas = [text for name, text in data.items() if name.startswith(PERSONA) and text is not None]
    others = {names.get(name, name): value for name, value in data.items() if not name.startswith(PERSONA)}
    return others | {"personas": personas}


class UltraEditBench(QuestionSet):
    """UltraEditBench (Gu et al., 2025): two million edits of Wikidata with one rephrasing and one locality prompt."""

    upstream: ClassVar[Upstream] = ULTRAEDITBENCH
    prefix: ClassVar[str] = "ultraeditbench"
    prompt: ClassVar[str] = "prompt"
    target: ClassVar[str] = "ans"
    asked: ClassVar[tuple[FieldProbe, ...]] = (
        FieldProbe("rephrase_prompt", "", "rephrase"),
        FieldProbe("loc", "loc_ans", "locality"),
    )
    questions: ClassVar[bool] = False


load_qaedit = Loader("qaedit", QaEdit)
load_wikibigedit = Loader("wikibigedit", WikiBigEdit, read=partial(rows, nan_as_null=True))
load_ultraeditbench = Loader("ultraeditbench", UltraEditBench)
