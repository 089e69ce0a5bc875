"""Cases as text: the cut is marked, and what the script says after it is shown where the script is known."""

from __future__ import annotations

from curation.shipped import mini_split
from curation.splits.visible_texts import case_lines
from schemas.cases import Case
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from tests.support.documents.records import document_case
from tests.support.events import event_case
from tests.support.facts import peru_fact

QUESTION = ScriptQuestion(key="q/1", fact="f/peru", text="How to go?")
SCRIPT = Script(key="s/1", question="q/1", steps=("Pack", "Fly to Lima", "Rest"))
PROMPT = ScriptPrompt(
    key="p/1", fact="f/peru", question="q/1", script="s/1", text="How to go?\nStep 1: Pack\nStep 2: Fly to", offset=39,
    targets=("Lima", "Oslo"),
)  # fmt: skip
CASE = Case(key="case/f/peru", fact=peru_fact(), questions=(QUESTION,), prompts=(PROMPT,))


def test_the_cut_and_what_follows() -> None:
    assert list(case_lines(CASE, {"s/1": SCRIPT})) == [
        "case/f/peru  (counterfactual)",
        "  The capital of Peru is Lima -> Oslo",
        "    How to go?",
        "    Step 1: Pack",
        "    Step 2: Fly to [CUT]Lima",
        "    Step 3: Rest",
    ]


def test_without_the_script_the_targets_follow() -> None:
    other = SCRIPT.model_copy(update={"steps": ("Another", "script")})
    for scripts in ({}, {"s/1": other}):
        assert list(case_lines(CASE, scripts))[-1] == "    Step 2: Fly to [CUT]Lima / Oslo"


def test_every_case_of_every_type() -> None:
    for case in (*mini_split().cases, event_case("case/1"), document_case("case/2")):
        lines = list(case_lines(case, {}))
        assert lines[0].startswith(case.key) and len(lines) > 1
