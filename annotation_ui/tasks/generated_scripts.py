"""Generated scripts: from a file into a store; tasks that rate one or compare two, blind to the method."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from annotation_ui.tasks.base import RatingTask, TaskItem
from annotation_ui.tasks.forms import read_form
from curation.files.json_files import json_lines
from schemas.core.clock import now
from schemas.core.config import validate
from schemas.core.errors import DataError, UserError
from schemas.core.ids import content_id, seed
from schemas.core.records import Record
from schemas.events.open_answer import OpenAnswer
from schemas.facts import Fact
from schemas.generated_scripts import GeneratedScript
from schemas.lineage import Lineage
from schemas.raters import Rater
from schemas.ratings import SCRIPT, Rating, Rubric
from schemas.scripts import ScriptQuestion
from schemas.text.raw_text import raw_text

if TYPE_CHECKING:
    from curation.store.store import Store


class ScaleTask(RatingTask):
    """A task whose answers are ratings by a rubric, given blind to method, model and judge."""

    blind = True
    level = "ordinal"
    rubric: ClassVar[Rubric] = SCRIPT

    def records(self, item: TaskItem, answers: Mapping[str, Any], *, person: str) -> list[Record]:
        """A rating of every aspect; the comment is their reason. Of a pair it names both texts.

        If words can be marked, a verdict of its own (``..._spans``) counts and stores them: ratings have no positions.
        """
        checked = self.checked(item, answers)
        rater, pair = Rater.person(person).stored, self.rubric.rates_pairs
        rated = "~".join((item.id, *item.related)) if pair else item.id
        ratings: list[Record] = [
            Rating(
                key=f"rating/{self.form.label}/{rater}/{field.name}/{rated}",
                item_id=item.id,
                aspect=field.name,
                scale=self.rubric.scale,
                value=int(checked[field.name]),
                rater=rater,
                form=self.form.label,
                reason=str(checked.get("comment", "")),
                rubric=self.rubric.name,
                before_id=item.related[0] if pair else None,
            )
            for field in self.form.asked_fields()
        ]
        return [*ratings, *self.marks(item.id, checked, person)]


class ScriptRating(ScaleTask):
    """A task whose items are generated scripts, as the models wrote them.

    Attributes:
        script_alone: Show the script and nothing else.
    """

    script_alone: ClassVar[bool] = False

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every generated script that is not a refusal, with what may be seen.

        Neither method nor model nor the pre/post tag is shown. All scripts of a case stand beside the same new fact,
        which Coherence asks for (Figure 9); only the object that Completeness takes as true (Figure 11) depends on the
        script.
        """
        for generated in store.all(GeneratedScript):
            if generated.refused or not generated.text.strip():
                continue
            around = {} if self.script_alone else script_context(store, generated)
            texts = {**around, "script": raw_text(generated.text)}
            yield TaskItem(id=generated.id, case=generated.case, stratum=method_of(generated), shown=texts)


def script_context(store: Store, script: GeneratedScript) -> dict[str, str]:
    """What is shown around a script: question, new fact, both objects, and the one that Completeness goes by."""
    question, fact = store.get(script.question), store.get(script.fact)
    if not isinstance(question, ScriptQuestion) or not isinstance(fact, Fact):
        raise UserError(
            f"the script '{script.key}' belongs to no question and fact of the store", where=str(store.path)
        )
    if fact.new is None:
        raise UserError(f"the script '{script.key}' is of a fact that is not edited", where=fact.key)
    return {
        "question": question.text,
        "fact": f"{fact.fact_prompt} {fact.new.text}",
        "new": fact.new.text,
        "old": fact.old.text,
        "counts": (fact.new if script.edited else fact.old).text,
    }


class RateExecutability(ScriptRating):
    """Seven points for Executability. Rate it before the other aspects: their task shows the question."""

    about = "Rate Executability of generated scripts, from the script alone"
    script_alone = True
    form = read_form("rate_executability")


class RateScript(ScriptRating):
    """Seven points for the three aspects that need the question and the objects."""

    about = "Rate Coherence, Consistency and Completeness of generated scripts"
    after = ("rate_executability",)
    form = read_form("rate_script")


FIRST, SECOND, TIE = "first", "second", "tie"
OUTCOMES = {FIRST: 1.0, SECOND: 0.0, TIE: 0.5}
UNIT = "preference"
"""Of a stored outcome: 1 where the script that the verdict is on was better, 0 where the other, 0.5 for a tie."""


def method_of(text: GeneratedScript | OpenAnswer) -> str:
    """What is compared: model and editing method."""
    return f"{text.model} {text.editor}"


class ComparisonTask(RatingTask):
    """A task whose items are pairs. Its records are measurements on one script in relation to the other.

    Attributes:
        script_alone: Show the scripts and nothing else.
    """

    blind = True
    script_alone: ClassVar[bool] = False

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every two scripts of one question, case and sample number that two methods wrote, refusals left out.

        Which one is A is drawn by a seed of the two, the same in every campaign, and recorded: ``related`` holds A and
        B.
        """
        groups: dict[tuple[str, str, int], list[GeneratedScript]] = defaultdict(list)
        for script in store.all(GeneratedScript):
            if not script.refused and script.text.strip():
                groups[script.case, script.question, script.sample].append(script)
        for scripts in groups.values():
            ordered = sorted(scripts, key=lambda s: (method_of(s), s.id))
            for one, other in combinations(ordered, 2):
                if method_of(one) == method_of(other):
                    continue
                turned = seed("compare", *sorted((one.id, other.id))) % 2
                a, b = (other, one) if turned else (one, other)
                around = {} if self.script_alone else script_context(store, one)
                texts = {k: v for k, v in around.items() if k != "counts"}
                yield TaskItem(
                    id=content_id("pair", [a.id, b.id]),
                    case=one.case,
                    stratum=f"{method_of(one)} | {method_of(other)}",
                    shown={**texts, FIRST: raw_text(a.text), SECOND: raw_text(b.text)},
                    related=(a.id, b.id),
                )

    def judged(self, item: TaskItem) -> tuple[str, ...]:
        """A and B, in the order in which they were shown."""
        return item.related

    def records(self, item: TaskItem, answers: Mapping[str, Any], *, person: str) -> list[Record]:
        """An outcome for every aspect; ``unscored`` where the person could not judge.

        It is on the script with the smaller id, whichever was A, so that a pair has one verdict a person and aspect.
        """
        clean = self.checked(item, answers)
        comment = str(clean.get("comment", ""))
        on, other = sorted(item.related)
        out: list[Record] = []
        for field in self.form.asked_fields():
            outcome = OUTCOMES.get(clean[field.name])
            fields: dict[str, Any] = {"label": "unscored", "reason": comment or "cannot judge"}
            if outcome is not None:
                value = outcome if on == item.related[0] else 1.0 - outcome
                fields = {"value": value, "unit": UNIT, "reason": comment}
            out.append(self.person_verdict(on, person, field.name, related=(other,), **fields))
        return [*out, *self.marks(on, clean, person, related=(other,))]


class CompareExecutability(ComparisonTask):
    """Which of two scripts can better be carried out. Ask it before the other aspects: they show the question."""

    about = "Compare the Executability of two scripts of one question, from the scripts alone"
    script_alone = True
    form = read_form("compare_executability")


class CompareScripts(ComparisonTask):
    """Which of two scripts of one question is better, on the three aspects that need the question and the objects."""

    about = "Compare two scripts of one question by Coherence, Consistency and Completeness"
    after = ("compare_executability", "rate_executability")
    form = read_form("compare_scripts")


def read_scripts(path: Path) -> list[GeneratedScript]:
    """Records of generated scripts, one a line.

    Raises:
        UserError: there is no such file. DataError: a line is no such record; says which and why.
    """
    return [validate(GeneratedScript, data, where=where) for _, where, data in json_lines(path)]


def import_scripts(path: Path, store_path: Path) -> tuple[int, int]:
    """Put the scripts of a file (records, one a line) into a store; returns scripts read and scripts new there.

    A script that belongs to no fact or question would stop every campaign that is made of the store.

    Raises:
        UserError: there is no such file, or a script names a fact or question that the store has not.
        DataError: a line is no such record, or a key is one of something else; says which and why.
    """
    from curation.store.store import Store

    scripts = read_scripts(path)
    with Store.open(store_path, write=True) as store:
        for script in scripts:
            for field, key, kind in (("fact", script.fact, Fact), ("question", script.question, ScriptQuestion)):
                if not isinstance(store.get(key), kind):
                    raise DataError(f"'{key}' is no {field}", where=f"{path}, script '{script.key}'")
        made_at, detail = now(), {"from": path.name}
        lines = [Lineage(item_id=s.id, stage="import", made_at=made_at, detail=detail) for s in scripts]
        put = store.put(scripts, lines)
    return put.seen, put.new
