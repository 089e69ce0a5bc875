"""The rule checks of construction over what a store already holds, for ``scedit check``.

Construction judges what it writes as it writes it. What came into a store by another road (an import, an older version
of a check) is judged here, by the same checks: the verdicts have the same keys, so nothing is judged twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import ClassVar

from construction.checks.base import Check, Material
from construction.checks.early_cut import EarlyCut
from construction.checks.fact_dates import FactDates
from construction.checks.leak_in_prompt import LeakInPrompt
from construction.checks.leak_in_question import LeakInQuestion
from construction.checks.no_mention import NoMention
from construction.checks.question_form import QuestionForm
from construction.checks.similar_question import SimilarQuestion
from construction.checks.subject_in_neighbour import SubjectInNeighbour
from construction.checks.subject_in_question import SubjectInQuestion
from curation.checks.store_checks import StoreCheck, Surroundings
from schemas.core.records import Record
from schemas.facts import Fact, Neighbour
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.verdicts import Verdict


class RuleInStore(StoreCheck):
    """Base: a rule check, with the material of each item looked up in the store.

    An item whose fact, or question, is not in the store gets no verdict and stays due.
    """

    rule: ClassVar[type[Check]]
    batch: ClassVar[int] = 1000

    def __init_subclass__(cls) -> None:
        if rule := getattr(cls, "rule", None):
            cls.name, cls.version = rule.name, rule.version

    def material(self, items: Sequence[Record], around: Surroundings) -> Iterator[Material]:
        """What the rule looks at, for every item that it can be found for."""
        raise NotImplementedError

    def judge(self, items: Sequence[Record], around: Surroundings) -> Iterator[Verdict]:
        """The rule's verdicts."""
        rule = self.rule()
        for material in self.material(items, around):
            if rule.applies(material):
                yield rule.judge(material)


class FactDatesInStore(RuleInStore):
    """``fact_dates`` on every fact, beside the other facts of its subject and relation."""

    rule = FactDates
    on: ClassVar[str] = "fact"
    about: ClassVar[str] = "are temporal edits dated and in order?"

    def material(self, items: Sequence[Record], around: Surroundings) -> Iterator[Material]:
        """Temporal facts with those beside them."""
        beside: dict[tuple[str, str], list[Fact]] = defaultdict(list)
        for one in around.facts.values():
            if one.change == "temporal":
                beside[one.subject.text.casefold(), one.relation.id].append(one)
        for item in items:
            fact = around.facts[item.key]
            same = beside.get((fact.subject.text.casefold(), fact.relation.id), [])
            yield Material(fact=fact, facts=tuple(f for f in same if f.key != fact.key))

    def judge(self, items: Sequence[Record], around: Surroundings) -> Iterator[Verdict]:
        """One verdict a fact; ``keep`` for one that is no temporal edit."""
        rule = self.rule()
        for item, material in zip(items, self.material(items, around), strict=True):
            yield rule.judge(material) if rule.applies(material) else self.verdict(item, "keep", "no temporal edit")


class OfQuestions(RuleInStore):
    """Base of those on questions."""

    on: ClassVar[str] = "question"

    def material(self, items: Sequence[Record], around: Surroundings) -> Iterator[Material]:
        """Questions with their facts, and those of the same fact that come before them by key."""
        asked = [q for q in items if isinstance(q, ScriptQuestion) and q.fact in around.facts]
        siblings: dict[str, list[ScriptQuestion]] = defaultdict(list)
        for one in around.store.of_parents(ScriptQuestion, {q.fact for q in asked}):
            siblings[one.fact].append(one)
        for question in asked:
            earlier = tuple(q for q in siblings[question.fact] if q.key < question.key)
            yield Material(fact=around.facts[question.fact], question=question, questions=earlier)


class QuestionFormInStore(OfQuestions):
    """``question_form`` on every question."""

    rule = QuestionForm
    about: ClassVar[str] = "is it one 'How ...' question that does not ask about an impact?"


class SubjectInQuestionInStore(OfQuestions):
    """``subject_in_question`` on every question."""

    rule = SubjectInQuestion
    about: ClassVar[str] = "does the question name the subject?"


class LeakInQuestionInStore(OfQuestions):
    """``leak_in_question`` on every question."""

    rule = LeakInQuestion
    about: ClassVar[str] = "does the question name either object or an alias?"


class SimilarQuestionInStore(OfQuestions):
    """``similar_question`` on every question; earlier ones are those whose key comes first."""

    rule = SimilarQuestion
    about: ClassVar[str] = "greatest ROUGE-1 F with an earlier question of the same fact"


class NoMentionInStore(RuleInStore):
    """``no_mention`` on every script."""

    rule = NoMention
    on: ClassVar[str] = "script"
    about: ClassVar[str] = "does the script mention the old object, so that it can be cut?"

    def material(self, items: Sequence[Record], around: Surroundings) -> Iterator[Material]:
        """Scripts with their questions and facts."""
        scripts = [s for s in items if isinstance(s, Script)]
        asked = {q.key: q for q in around.store.by_keys(ScriptQuestion, {s.question for s in scripts})}
        for script in scripts:
            question = asked.get(script.question)
            if question is not None and question.fact in around.facts:
                yield Material(fact=around.facts[question.fact], question=question, script=script)


class OfPrompts(RuleInStore):
    """Base of those on prompts."""

    on: ClassVar[str] = "prompt"

    def material(self, items: Sequence[Record], around: Surroundings) -> Iterator[Material]:
        """Prompts with their facts."""
        for prompt in items:
            if isinstance(prompt, ScriptPrompt) and prompt.fact in around.facts:
                yield Material(fact=around.facts[prompt.fact], prompt=prompt)


class LeakInPromptInStore(OfPrompts):
    """``leak_in_prompt`` on every prompt."""

    rule = LeakInPrompt
    about: ClassVar[str] = "does the prompt name the new object, or the old one before the cut?"


class EarlyCutInStore(OfPrompts):
    """``early_cut`` on every prompt."""

    rule = EarlyCut
    about: ClassVar[str] = "the step of the cut; one in step 1 is for people to judge"


class SubjectInNeighbourInStore(RuleInStore):
    """``subject_in_neighbour`` on every link, in relation to each prompt of the neighbour; without any it stays due."""

    rule = SubjectInNeighbour
    on: ClassVar[str] = "neighbour"
    about: ClassVar[str] = "does a neighbour's prompt name the edited subject or the new object?"

    def material(self, items: Sequence[Record], around: Surroundings) -> Iterator[Material]:
        """Links with both facts, once for each prompt of the neighbour."""
        links = [x for x in items if isinstance(x, Neighbour) and {x.edit, x.fact} <= around.facts.keys()]
        prompts: dict[str, list[ScriptPrompt]] = defaultdict(list)
        for prompt in around.store.of_parents(ScriptPrompt, {link.fact for link in links}):
            prompts[prompt.fact].append(prompt)
        for link in links:
            edit, fact = around.facts[link.edit], around.facts[link.fact]
            for prompt in prompts[link.fact]:
                yield Material(fact=fact, edit=edit, link=link, prompt=prompt)
