"""Over-generate, then choose: of the questions that pass the checks, those that differ most (ScEdit §2.1, §3.2.1)."""

from __future__ import annotations

from collections.abc import Sequence

from construction.authoring.outcome import QuestionOutcome, overall_label
from curation.similarity.texts import rouge1_f
from schemas.scripts import ScriptQuestion
from schemas.verdicts import Verdict, verdict_key

CHECK = "surplus"
BY = f"{CHECK}@1"
UNIT = "ROUGE-1 F"


def selection_order(questions: Sequence[QuestionOutcome]) -> list[int]:
    """Places of all questions in the order in which they are to be taken, the same in every process.

    Those that every check keeps come before those it is unsure of. The first is the model's own first; then always the
    one whose nearest among the taken ones is farthest (max-min of 1 - ROUGE-1 F), the earlier one where two are equal.
    """
    left = list(range(len(questions)))
    taken: list[int] = []
    texts = [q.question.text for q in questions]
    ranks = [overall_label(q.verdicts) != "keep" for q in questions]
    near = [0.0] * len(questions)  # similarity to the nearest question taken so far
    while left:
        best = min(left, key=lambda i: (ranks[i], near[i], i))
        left.remove(best)
        taken.append(best)
        for i in left:
            near[i] = max(near[i], rouge1_f(texts[i], texts[best]))
    return taken


def chosen_verdict(question: ScriptQuestion) -> Verdict:
    """It was among the chosen ones, whatever an earlier run with other numbers said."""
    return Verdict(key=_key(question), item_id=question.id, by=BY, label="keep")


def surplus_verdict(question: ScriptQuestion, chosen: Sequence[ScriptQuestion]) -> Verdict:
    """It passed the checks, but enough others were chosen; says which one of them it is nearest to."""
    nearest = max(chosen, key=lambda c: rouge1_f(question.text, c.text))
    return Verdict(
        key=_key(question),
        item_id=question.id,
        by=BY,
        label="drop",
        reason=f"more candidates than wanted; of the {len(chosen)} chosen the nearest is '{nearest.text}'",
        value=round(rouge1_f(question.text, nearest.text), 6),
        unit=UNIT,
    )


def _key(question: ScriptQuestion) -> str:
    return verdict_key(item_id=question.id, by=BY)
