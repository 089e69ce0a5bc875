"""What checks say of natural prompts: drafts of capable authors as they came, labelled by readers.

Each item of ``curation/shipped/scripts/natural.jsonl`` is a question and a script about a shipped fact, as an author
wrote it on the first attempt. Other readers answered ``verify_question@2``, ``verify_prompt@3`` and ``verify_next@3``;
their answers are read here by the steps that read a model's reply. Two label readers said whether the step needs the
fact, whether the object comes next, whether nothing leaks, and whether a person would ask; a third one where these two
disagree about the cut. All of them are large language models.

Run: python -m benchmarks.natural
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from construction.authoring.outcome import overall_label
from construction.checks import CheckInputs, judge
from construction.checks.prompts import complaint
from construction.scripts.script_step import Draft, script_of
from construction.scripts.truncation import cut_script
from construction.verifier.steps import (
    STEPS,
    NextReply,
    NextWords,
    PromptReading,
    PromptReply,
    QuestionReading,
    QuestionReply,
    VerifyAsk,
)
from curation.files.json_files import json_lines
from curation.loaders import load
from curation.shipped import SHIPPED
from curation.stats.intervals import binomial_interval
from schemas.core.config import validate
from schemas.core.records import Frozen
from schemas.facts import Fact
from schemas.scripts import ScriptPrompt, ScriptQuestion, render

READERS = ("verify_question", "verify_prompt", "verify_next")
ON_CUTS = READERS[1:]


class Labels(Frozen):
    """What the first label reader says: see the module."""

    needed: bool
    next: bool
    hidden: bool
    asked: bool

    @property
    def good(self) -> bool:
        """Whether the script is cut where it should be."""
        return self.needed and self.next


class Place(Frozen):
    """Where the object stands first: number of the step from 1, characters before it, and its words there."""

    step: int
    start: int
    text: str


class QuestionAnswer(Frozen):
    """The answer to ``verify_question``."""

    asked: Literal["yes", "no", "unsure"]
    needed: Literal["yes", "no", "unsure"]
    why: str


class PromptAnswer(Frozen):
    """The answer to ``verify_prompt``."""

    needed: Literal["yes", "no", "unsure"]
    same: Literal["yes", "no", "unsure"]
    quotes: tuple[str, ...]
    why: str


class NaturalScript(Frozen):
    """A script as an author wrote it, and what readers say.

    Attributes:
        kind: Whether its fact was to be edited, or is a neighbour.
        fact: Key of a shipped fact.
        author: Number of the author, 1 to 7.
        draw: 1: facts of 22 relations; 2: of the nine of them where most cuts fail, on which the wording of
            ``verify_prompt@3`` was chosen, as on 1; 3: other facts of these nine, read once.
        label: By the first label reader.
        second: By the second one: ``good``, or the fault of the cut.
        settled: By a third one, where these two disagree whether the cut is good.
        asked: The answer to ``verify_question``.
        reading: The answer to ``verify_prompt``, object shown.
        next: The answer to ``verify_next``, who is not told the fact.
    """

    key: str
    kind: Literal["edit", "neighbour"]
    fact: str
    author: int
    draw: Literal[1, 2, 3]
    question: str
    steps: tuple[str, ...]
    cut: Place
    label: Labels
    second: Literal["good", "needs", "next"]
    settled: Literal["good", "needs", "next"] | None = None
    asked: QuestionAnswer
    reading: PromptAnswer
    next: str

    @property
    def faulty(self) -> bool:
        """Whether most readers find the cut faulty."""
        return self.settled != "good" if self.settled else not self.label.good


class Judged(NamedTuple):
    """A script with the prompt that comes of it and the label of each check that looked at it."""

    script: NaturalScript
    fact: Fact
    prompt: ScriptPrompt
    labels: dict[str, str | None]

    def kept(self, checks: Sequence[str]) -> bool:
        """Whether all of these checks keep it."""
        return all(self.labels[check] == "keep" for check in checks)


def natural_scripts() -> list[NaturalScript]:
    """The scripts that we ship."""
    rows = json_lines(SHIPPED / "scripts/natural.jsonl")
    return [validate(NaturalScript, data, where=where) for _, where, data in rows]


def judged_scripts() -> Iterator[Judged]:
    """Every script, cut before its first mention, with what rules and readers say of it."""
    facts = {fact.key: fact for fact in load("shipped").facts}
    for script in natural_scripts():
        fact = facts[script.fact]
        question = ScriptQuestion(key=script.key, fact=fact.key, text=script.question)
        head = (*script.steps[: script.cut.step - 1], script.steps[script.cut.step - 1][: script.cut.start].rstrip())
        text = render(script.question, head)
        prompt = ScriptPrompt(key="p", fact=fact.key, text=text, offset=len(text) + 1, targets=(script.cut.text,))
        ask, about = VerifyAsk(fact, prompt), VerifyAsk(fact, question)
        asked = QuestionReply(readings=[QuestionReading(n=1, **script.asked.model_dump())])
        said = PromptReply(readings=[PromptReading(n=1, **script.reading.model_dump(mode="json"))])
        following = NextReply(readings=[NextWords(n=1, next=script.next)])
        labels: dict[str, str | None] = {"rules": _label_by_rules(fact, question, script)}
        for task, item, reply in (("question", about, asked), ("prompt", ask, said), ("next", ask, following)):
            (verdict,) = STEPS[task].load(model="reader").parse([item], reply)
            labels[verdict.check] = verdict.label
        yield Judged(script, fact, prompt, labels)


def _label_by_rules(fact: Fact, question: ScriptQuestion, script: NaturalScript) -> str:
    """What the rule checks come to."""
    if complaint(script.steps) is not None:
        return "drop"
    made = script_of(question, Draft(script.steps))
    inputs = CheckInputs(
        fact=fact, question=question, draft=script.steps, script=made, prompt=cut_script(fact, question, made)
    )
    verdicts = [v for stage in ("question", "draft", "script") for v in judge(stage, inputs)]
    return overall_label([*verdicts, *(judge("prompt", inputs) if inputs.prompt else ())])


def questions_table(scripts: Sequence[Judged]) -> str:
    """Rows of a Markdown table: what ``verify_question`` says of questions that a person would ask, and of others."""
    lines = ["| a person would ask this | keeps | is unsure of | drops |", "| --- " * 4 + "|"]
    for name, wanted in (("yes", True), ("no", False)):
        said = [one.labels["verify_question"] for one in scripts if one.script.label.asked is wanted]
        cells = [_share(said.count(label), len(said)) for label in ("keep", "unsure", "drop")]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _share(count: int, of: int) -> str:
    share = binomial_interval(count, of, kind="wilson")
    return f"{count} of {of}: {share.value:.2f} [{share.low:.2f}, {share.high:.2f}]"


def cuts_table(scripts: Sequence[Judged]) -> str:
    """Rows of a Markdown table: what each check keeps of good and of faulty cuts."""
    groups: dict[str, Callable[[Judged], bool]] = {
        "good": lambda one: not one.script.faulty,
        "good, and a person would ask this": lambda one: not one.script.faulty and one.script.label.asked,
        "good, of facts that changed": lambda one: not one.script.faulty and one.fact.change == "temporal",
        "good, draw 1": lambda one: not one.script.faulty and one.script.draw == 1,
        "good, draw 2": lambda one: not one.script.faulty and one.script.draw == 2,
        "good, draw 3": lambda one: not one.script.faulty and one.script.draw == 3,
        "faulty": lambda one: one.script.faulty,
        "faulty, both label readers say so": lambda one: one.script.faulty and one.script.settled is None,
        "faulty, draw 1": lambda one: one.script.faulty and one.script.draw == 1,
        "faulty, draw 2": lambda one: one.script.faulty and one.script.draw == 2,
        "faulty, draw 3": lambda one: one.script.faulty and one.script.draw == 3,
    }
    head = ("cuts", "rules keep", *(f"`{check}` keeps" for check in READERS), "both readings of cuts", "all three")
    lines = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    for name, is_in in groups.items():
        group = [one for one in scripts if is_in(one)]
        cells = []
        for checks in (("rules",), *((check,) for check in READERS), ON_CUTS, READERS):
            cells.append(_share(sum(one.kept(checks) for one in group), len(group)))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    judged = list(judged_scripts())
    print(f"{questions_table(judged)}\n\n{cuts_table(judged)}")
