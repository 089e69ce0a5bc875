"""zsRE edits (Levy et al., 2017, in the copies that MEND and EasyEdit edit with)."""

from __future__ import annotations

from collections.abc import Iterator

from curation.loaders.base import FormatReader, InvalidRecord, Loader, Row, RowItem
from curation.loaders.fields import relation_of, rest, strings, template, text_of, unique_key_part
from curation.loaders.sources import ZSRE
from schemas.facts import Entity, Fact, Object, Relation


class Zsre(FormatReader):
    """Question prompts. ``answers`` are the old object and its aliases, ``alt`` is the new one.

    ``pred`` is what some model answered before the edit: it is no truth and stays in the extra, with the unrelated
    question (``loc``) and the portability question. The records have no id: keys hash subject and question.
    """

    upstream = ZSRE
    note_kind = "suspect"
    _CARRIED = ("subject", "src", "rephrase", "alt", "answers", "cond")

    def make(self, row: Row) -> Iterator[RowItem]:
        """The fact, and extras with the other probes."""
        data = row.data
        subject, question = text_of(data, "subject"), text_of(data, "src")
        answers, new = list(dict.fromkeys(strings(data["answers"]))), text_of(data, "alt")
        if not answers:
            raise ValueError("the field 'answers' holds no old object")
        if new.casefold() in (a.casefold() for a in answers):
            raise InvalidRecord(f"the new object {new!r} is among the right answers: nothing would be edited")
        prompt = template(question, subject)
        fact = Fact(
            key=f"zsre/{unique_key_part(subject, question)}",
            subject=Entity(text=subject),
            relation=Relation(id=relation_of(prompt), label=prompt),
            prompt=prompt,
            old=Object(text=answers[0], aliases=tuple(answers[1:])),
            new=Object(text=new),
            paraphrases=tuple(strings(data.get("rephrase"))),
            source=self.upstream.source(row.number),
        )
        yield fact
        if isinstance(data.get("pred"), str) and data["pred"].strip() not in answers:
            self._tally.add("'pred', the old side of 'cond', is none of the right answers (the old object is)", row)
        cond = data.get("cond")
        usual = cond == f"{data.get('pred')} >> {data['alt']} || {data['src']}"
        if cond is not None and not usual:
            yield row.problem("contradictory", "the field 'cond' does not repeat pred, alt and src")
        yield from rest(fact.key, data, self._CARRIED if usual else self._CARRIED[:-1])


load_zsre = Loader("zsre", Zsre)
