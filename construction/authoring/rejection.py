"""Why a script cannot be used, in words for the model that wrote it.

The writer must not learn the new object. So a reason never says which object leaked, and quotes only words that
stand in the writer's own steps.
"""

from __future__ import annotations

from collections.abc import Iterable

from schemas.scripts import ScriptQuestion
from schemas.text.escaping import escape_line
from schemas.verdicts import Span, Verdict

_LONGEST = 80  # characters that are quoted
_FORMAT = "no script in the format: "
_SAID = {
    "no_mention": "no step holds the object word for word",
    "early_cut": "the object stands in step 1 already, and at least two preparing steps have to come first",
}


def reason_for_author(question: ScriptQuestion, verdicts: Iterable[Verdict]) -> str:
    """Why a script cannot be used; empty where another script would not help.

    Args:
        question: The question of the script. What is wrong with words of the question, another script cannot mend.
        verdicts: Verdicts on the script, or on its question where the steps are in no format.

    Example:
        >>> from schemas.verdicts import Verdict
        >>> early = Verdict(key="v", item_id="x", by="early_cut@2", label="unsure", reason="cut in step 1")
        >>> reason_for_author(ScriptQuestion(key="q", fact="f", text="How to go?"), [early])
        'the object stands in step 1 already, and at least two preparing steps have to come first'
    """
    against = [v for v in verdicts if v.label in ("drop", "unsure")]
    reasons = (_reason(question, v) for v in sorted(against, key=lambda v: v.label != "drop"))
    return next((reason for reason in reasons if reason), "")


def _reason(question: ScriptQuestion, verdict: Verdict) -> str:
    if verdict.reason.startswith(_FORMAT):
        return verdict.reason.removeprefix(_FORMAT)
    if verdict.check in _SAID:
        return _SAID[verdict.check]
    in_steps = [span for span in verdict.spans if span.start >= len(question.text)]
    if in_steps:
        return f"up to the object it must not hold {' or '.join(_quote_spans(in_steps))}"
    return "" if verdict.spans or verdict.label != "drop" else "it does not keep all the rules"


def _quote_spans(spans: Iterable[Span]) -> list[str]:
    words = dict.fromkeys(escape_line(" ".join(span.text.split()))[:_LONGEST] for span in spans)
    return [f"'{word}'" for word in list(words)[:3]]
