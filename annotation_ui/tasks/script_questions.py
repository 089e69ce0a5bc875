"""Tasks about script questions and texts up to the gap: screen, filter, verify a leak, judge the quality sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from annotation_ui.tasks.base import Numbers, RatingTask, TaskItem, join_reasons
from annotation_ui.tasks.forms import (
    FAIL,
    LEAK,
    Answers,
    read_form,
)
from schemas.core.records import Record
from schemas.facts import Fact
from schemas.generated_scripts import GeneratedScript
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.text.raw_text import raw_text
from schemas.verdicts import Label, Verdict

if TYPE_CHECKING:
    from curation.store.store import Store


def edited_prompts(store: Store) -> Iterator[tuple[Fact, ScriptPrompt]]:
    """The script prompts of facts that are to be edited, with their facts, in order of keys."""
    prompts = list(store.all(ScriptPrompt))
    facts = {fact.key: fact for fact in store.by_keys(Fact, (p.fact for p in prompts))}
    yield from ((facts[p.fact], p) for p in prompts if facts[p.fact].new is not None)


def question_of(store: Store, prompt: ScriptPrompt) -> str:
    """The text of a prompt's script question; the first line of the prompt where none is published."""
    if prompt.question is not None:
        question = store.get(prompt.question)
        if isinstance(question, ScriptQuestion):
            return question.text
    return prompt.text.split("\n", 1)[0]


def edit_text(fact: Fact) -> str:
    """The edit as people read it.

    Example:
        >>> from schemas.facts import Entity, Object, Relation, Source
        >>> fact = Fact(key="f/1", subject=Entity(text="Peru"), relation=Relation(id="P36"), old=Object(text="Lima"),
        ...             prompt="The capital of {} is", new=Object(text="Oslo"), source=Source(name="me", licence="CC0"))
        >>> edit_text(fact)
        'The capital of Peru is: Lima → Oslo'
    """
    return f"{fact.fact_prompt}: {fact.old.text} → {fact.new.text if fact.new else fact.old.text}"


class FilterQuestion(RatingTask):
    """Is the question real, does it depend on the fact, and does the cut lead to the object?"""

    about = "Filter script questions and their cut scripts"
    span_labels = (LEAK, FAIL)
    form = read_form("filter_question")

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every script prompt of an edited fact."""
        for fact, prompt in edited_prompts(store):
            yield TaskItem(
                id=prompt.id,
                case=fact.key,
                stratum=f"{fact.relation.id} {fact.change}",
                shown={
                    "edit": edit_text(fact),
                    "question": question_of(store, prompt),
                    "cut": prompt.text + prompt.separator.rstrip(" "),
                },
            )


class ScreenQuestion(RatingTask):
    """Is the question worth a script? ``scedit construct`` writes none for those that people drop."""

    about = "Screen script questions before scripts are written"
    span_labels = (LEAK, FAIL)
    form = read_form("screen_question")

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every question of a fact that is to be edited, without a script, that no check has dropped."""
        scripted = {script.question for script in store.all(Script)}
        dropped = {v.item_id for v in store.verdicts(stale=False) if v.label == "drop" and v.judged_by is None}
        questions = [q for q in store.all(ScriptQuestion) if q.key not in scripted and q.id not in dropped]
        facts = {fact.key: fact for fact in store.by_keys(Fact, (q.fact for q in questions))}
        for question in questions:
            fact = facts[question.fact]
            if fact.new is not None and fact.id not in dropped:  # dropped: it only serves as a neighbour
                yield TaskItem(
                    id=question.id,
                    case=fact.key,
                    stratum=f"{fact.relation.id} {fact.change}",
                    shown={"edit": edit_text(fact), "question": question.text},
                )


COMPARED = "compared the scripts before and after an edit"
HYPOTHETICAL = "answered hypothetically: no scripts before and after an edit were shown"


class QualitySample(RatingTask):
    """Three criteria. The second compares scripts before and after an edit where the store has such a pair."""

    about = "Judge the quality sample of a split by the paper's three criteria"
    form = read_form("quality")
    of_sample = True

    def items(self, store: Store) -> Iterator[TaskItem]:
        """The items of the sample drawn last, as the split has them; without one, all prompts of edited facts."""
        from curation.quality.sample import samples

        drawn = samples(store)
        if not drawn:
            for fact, prompt in edited_prompts(store):
                questions = [question_of(store, prompt)]
                yield _quality_item(store, prompt.id, fact, (prompt,), questions, f"{fact.relation.id} {fact.change}")
            return
        strata = {d.item_id: d.stratum for d in drawn[-1].items}
        for case in store.open_split(drawn[-1].split).cases:
            texts = {q.key: q.text for q in case.questions}
            for item_id, prompts in ((case.id, case.prompts), *((p.id, (p,)) for p in case.prompts)):
                if item_id in strata:
                    questions = [texts.get(p.question or "", p.text.split("\n", 1)[0]) for p in prompts]
                    yield _quality_item(store, item_id, case.fact, prompts, questions, strata[item_id])

    def records(self, item: TaskItem, answers: Answers, *, person: str) -> list[Record]:
        """``keep`` or ``drop``, and each answer; the second says whether two scripts were compared or imagined."""
        basis = {"reason": COMPARED if item.related else HYPOTHETICAL, "related": item.related}
        return [
            v.model_copy(update=basis) if isinstance(v, Verdict) and v.check == "quality_change" else v
            for v in super().records(item, answers, person=person)
        ]


def _quality_item(
    store: Store, item_id: str, fact: Fact, prompts: Sequence[ScriptPrompt], questions: Sequence[str], stratum: str
) -> TaskItem:
    """A prompt, or a case with all its prompts, as people judge it; scripts are shown beside a single prompt."""
    pair = _pair(store, prompts[0].question) if len(prompts) == 1 else None
    return TaskItem(
        id=item_id,
        case=fact.key,
        stratum=stratum,
        shown={
            "edit": edit_text(fact),
            "question": "\n\n".join(dict.fromkeys(questions)),
            "cut": "\n\n".join(p.text + p.separator.rstrip(" ") for p in prompts),
            **({"before": raw_text(pair[0].text), "after": raw_text(pair[1].text)} if pair else {}),
        },
        related=tuple(g.id for g in pair) if pair else (),
    )


def _pair(store: Store, question: str | None) -> tuple[GeneratedScript, GeneratedScript] | None:
    """A model's scripts before and after an edit, for one question: the first model and editor that has both."""
    if question is None:
        return None
    scripts = list(store.all(GeneratedScript, parent=question))
    for after in (g for g in scripts if g.edited):
        for before in (g for g in scripts if not g.edited and g.model == after.model and g.sample == after.sample):
            return before, after
    return None


LEAKS, CLEAN = "leaks", "clean"


class VerifyLeakFlag(RatingTask):
    """A check has quoted words that may leak; a person says whether they do. It shows the quote: that is the task."""

    about = "Confirm or reject flags of leaking knowledge"
    span_labels = (LEAK,)
    form = read_form("verify_leak")
    numbers: ClassVar[Numbers] = {"leak": {CLEAN: 0.0, LEAKS: 1.0}}

    def items(self, store: Store) -> Iterator[TaskItem]:
        """Every script prompt of an edited fact on which a check quotes leaking words."""
        stale = {item.id for item in store.stale()}
        for fact, prompt in edited_prompts(store):
            flags = [v for v in store.verdicts([prompt.id]) if v.spans and v.judged_by is None and v.id not in stale]
            flags = [v for v in flags if v.label in ("drop", "unsure")]
            if not flags:
                continue
            words = dict.fromkeys(s.text for v in flags for s in v.spans)
            yield TaskItem(
                id=prompt.id,
                case=fact.key,
                stratum=flags[0].check,
                shown={
                    "edit": edit_text(fact),
                    "cut": prompt.text + prompt.separator.rstrip(" "),
                    "flagged": " … ".join(words),
                    "why": "; ".join(dict.fromkeys(v.reason for v in flags if v.reason)),
                },
            )

    def verdict(self, item: TaskItem, answers: Answers) -> tuple[Label, str]:
        """``drop`` if it leaks, with the words that do, else ``keep``."""
        leaks = answers["leak"] == LEAKS
        reasons = answers.get("reasons", []) if leaks else []
        return "drop" if leaks else "keep", join_reasons(", ".join(reasons), answers.get("comment"))
