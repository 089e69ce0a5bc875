"""What a construction will ask of an endpoint, before anything is asked."""

from __future__ import annotations

from construction.pipeline import Plan, Work
from construction.prompts import load_prompt
from construction.questions import QuestionStep
from construction.scripts import ScriptAsk, ScriptStep
from schemas.records import Frozen
from schemas.scripts import ScriptQuestion

CHARACTERS = 4  # a token, roughly, in English
SCRIPT_TOKENS = 90  # nine short steps as JSON
QUESTION_TOKENS = 25


class Estimate(Frozen):
    """Calls and rough tokens, first attempts only; ``attempts`` bounds how often a rejected item is asked again."""

    facts: int
    neighbour_facts: int
    question_calls: int
    script_calls: int
    tokens_in: int
    tokens_out: int
    attempts: int

    def sentence(self) -> str:
        """The estimate in words."""
        calls = self.question_calls + self.script_calls
        more = f", up to {self.attempts} times as many where items are rejected" if self.attempts > 1 else ""
        return (
            f"{self.facts} facts to edit and {self.neighbour_facts} neighbour facts: {calls} calls "
            f"({self.question_calls} for questions, {self.script_calls} for scripts){more}; about {self.tokens_in:,} "
            f"tokens in and {self.tokens_out:,} out. Replies already on record are not asked for again."
        )


def estimate(work: Work, plan: Plan) -> Estimate:
    """Count the calls of a plan and estimate their tokens at four characters a token."""
    questions = QuestionStep(load_prompt("questions", plan.profile))
    scripts = ScriptStep(load_prompt("scripts", plan.profile))
    counts = dict.fromkeys(("question_calls", "script_calls", "tokens_in", "tokens_out"), 0)
    for facts, count, edited in ((work.edits, plan.questions, True), (work.others, plan.neighbour_questions, False)):
        for fact in facts:
            calls = questions.calls(fact, count=count, edited=edited)
            usual = ScriptQuestion(key="q", fact=fact.key, text=f"How can one plan a day with {fact.subject.text}?")
            script = sum(len(m.content) for m in scripts.prompt(ScriptAsk(question=usual, old=fact.old)))
            counts["question_calls"] += len(calls)
            counts["script_calls"] += count
            asked = sum(len(m.content) for call in calls for m in questions.prompt(call))
            counts["tokens_in"] += (asked + script * count) // CHARACTERS
            counts["tokens_out"] += count * (QUESTION_TOKENS + SCRIPT_TOKENS)
    attempts = max(questions.wording.attempts, scripts.wording.attempts)
    return Estimate(facts=len(work.edits), neighbour_facts=len(work.others), attempts=attempts, **counts)
