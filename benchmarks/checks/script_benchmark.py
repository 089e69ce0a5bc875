"""How well construction cuts and judges scripts: labelled scripts that we ship, and what is counted on them.

Each item is a question and its steps as an author might write them, with what a careful editor would do: keep the
prompt and cut it at one place, drop it, or ask somebody. Half of the items (``tuning``) is for setting rules and
thresholds, half (``test``) is for scoring. No subject and no old object stands in both halves.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import model_validator

from curation.files.json_files import json_lines
from curation.shipped import SHIPPED
from curation.stats.estimates import Estimate
from curation.stats.proportions import wilson_interval
from schemas.core.config import validate
from schemas.core.errors import UserError
from schemas.core.records import Frozen, Key, Text
from schemas.facts import Entity, Fact, Object, Relation, Source
from schemas.scripts import render
from schemas.verdicts import Label

Half = Literal["tuning", "test"]
ScriptKind = Literal[
    "good",
    "cut",
    "homonym",
    "derived_name",
    "longer_name",
    "wrong_cut",
    "list_label",
    "markup",
    "old_in_question",
    "other_name",
    "new_object",
    "related_knowledge",
    "telling_word",
    "subject_giveaway",
    "not_about_object",
]
Outcome = Literal["kept", "misplaced", "unsure", "dropped"]
_SOURCE = Source(name="ScEdit Toolkit labelled scripts", licence="CC0-1.0")
_LABEL_OF: Mapping[Outcome, Label] = {"kept": "keep", "unsure": "unsure", "dropped": "drop"}


class LabelledWords(Frozen):
    """Words that give something away.

    Attributes:
        step: Number of the step, from 1; 0 for the question.
        start: Characters of the step (or question) before the words.
    """

    step: int
    start: int
    text: Text


class LabelledCut(Frozen):
    """Where the script is to be cut.

    Attributes:
        step: Number of the step, from 1.
        start: Characters of the clean step before the mention.
        text: The mention of the old object.
        prompt: Question and steps up to the cut, without white space and opening signs before the mention.
    """

    step: int
    start: int
    text: Text
    prompt: Text


class LabelledScript(Frozen):
    """A question with its script, and what a careful editor would do with it.

    Attributes:
        half: ``tuning`` for setting rules and thresholds, ``test`` for scoring.
        kind: What the item tries.
        verdict: What is right: ``keep`` with the prompt cut at ``cut``, ``drop``, or ``unsure``.
        also: Verdicts that are no mistake either.
        hard: Whether a good item is one that rules are likely to trip over.
        steps: The steps as the author wrote them, labels and markup included.
        clean_steps: The steps as they have to stand in the prompt, where that differs from ``steps``.
        words: The words that give the object away.
        cut: Where to cut; None where the script is to be dropped.
        why: One sentence on the reason.
    """

    key: Key
    half: Half
    kind: ScriptKind
    verdict: Literal["keep", "drop", "unsure"]
    also: tuple[Literal["unsure", "drop"], ...] = ()
    hard: bool = False
    relation: Relation
    subject: Entity
    fact_prompt: Text
    old: Object
    new: Object
    change: Literal["counterfactual", "temporal"] = "counterfactual"
    question: Text
    steps: tuple[Text, ...]
    clean_steps: tuple[Text, ...] | None = None
    words: tuple[LabelledWords, ...] = ()
    cut: LabelledCut | None = None
    why: Text

    @model_validator(mode="after")
    def _validate_whole(self) -> LabelledScript:
        if (self.cut is None) != (self.verdict == "drop"):
            raise ValueError("a script has a cut exactly when it is not to be dropped")
        if self.verdict in self.also:
            raise ValueError(f"'{self.verdict}' is the verdict already and need not stand in 'also'")
        lines = (self.question, *self.written)
        for words in self.words:
            if not 0 <= words.step < len(lines):
                raise ValueError(f"there is no step {words.step}")
            if lines[words.step][words.start : words.start + len(words.text)] != words.text:
                raise ValueError(f"the words {words.text!r} do not stand at {words.start} of step {words.step}")
        if self.cut is not None:
            self._cut_holds(self.cut)
        return self

    def _cut_holds(self, cut: LabelledCut) -> None:
        if not 1 <= cut.step <= len(self.written):
            raise ValueError(f"there is no step {cut.step} to cut")
        step = self.written[cut.step - 1]
        if step[cut.start : cut.start + len(cut.text)] != cut.text:
            raise ValueError(f"the mention {cut.text!r} does not stand at {cut.start} of step {cut.step}")
        before = render(self.question, (*self.written[: cut.step - 1], step[: cut.start] + "|"))[:-1]
        if not before.startswith(cut.prompt) or any(c.isalnum() for c in before[len(cut.prompt) :]):
            raise ValueError("the prompt does not end right before the mention")

    @property
    def written(self) -> tuple[str, ...]:
        """The steps as they have to stand in the prompt."""
        return self.steps if self.clean_steps is None else self.clean_steps

    @property
    def accepted(self) -> frozenset[str]:
        """Verdicts that are right or no mistake."""
        return frozenset({self.verdict, *self.also})

    @property
    def fact(self) -> Fact:
        """The fact that the question is about."""
        return Fact(
            key=self.key,
            subject=self.subject,
            relation=self.relation,
            prompt=self.fact_prompt,
            old=self.old,
            new=self.new,
            change=self.change,
            source=_SOURCE,
        )


class ScriptDecision(NamedTuple):
    """What was decided on one labelled script.

    Attributes:
        label: ``keep``, ``drop`` or ``unsure``.
        prompt: The prompt that was cut, or None where there is none.
        reasons: What the checks said, one ``check: reason`` each.
    """

    label: Label
    prompt: str | None
    reasons: tuple[str, ...] = ()


class KindCounts(NamedTuple):
    """What became of the items of one kind and one right verdict.

    Attributes:
        kind: What the items try.
        verdict: What is right for them.
        n: How many there are.
        outcomes: How many were kept (in the right place), kept or held with a cut elsewhere, held as unsure, dropped.
        right: Share whose outcome is right or no mistake.
    """

    kind: str
    verdict: str
    n: int
    outcomes: Mapping[Outcome, int]
    right: Estimate


def labelled_scripts(half: Half | None = None) -> tuple[LabelledScript, ...]:
    """The labelled scripts that we ship, of one half or of both."""
    return tuple(r for r in _read(SHIPPED / "scripts/labelled_scripts.jsonl") if half in (None, r.half))


def tuning_scripts() -> tuple[LabelledScript, ...]:
    """Further scripts for setting rules: wrong cuts of many kinds, and good ones that look like them.

    They share no subject and no old object with the test half of ``labelled_scripts``.
    """
    return tuple(_read(SHIPPED / "scripts/tuning_scripts.jsonl"))


def later_scripts(half: Half | None = None) -> tuple[LabelledScript, ...]:
    """Wrong cuts and good items that were written when the fourth rules stood: how they do on what nobody had in mind.

    They share no subject and no old object with the other half of ``labelled_scripts``; those for testing share none
    with ``tuning_scripts`` either.
    """
    return tuple(r for r in _read(SHIPPED / "scripts/later_scripts.jsonl") if half in (None, r.half))


def fresh_scripts(half: Half | None = None) -> tuple[LabelledScript, ...]:
    """Wrong cuts, homonyms of both kinds and good items that were written when the fifth rules stood.

    They share no subject and no old object with any of the other scripts.
    """
    return tuple(r for r in _read(SHIPPED / "scripts/fresh_scripts.jsonl") if half in (None, r.half))


def _read(path: Path) -> list[LabelledScript]:
    return [validate(LabelledScript, data, where=where) for _, where, data in json_lines(path)]


def outcome(script: LabelledScript, decision: ScriptDecision) -> Outcome:
    """What a decision comes to: a prompt that is not dropped but cut elsewhere is ``misplaced``."""
    if decision.label == "drop" or decision.prompt is None:
        return "dropped"
    if script.cut is not None and decision.prompt != script.cut.prompt:
        return "misplaced"
    return "unsure" if decision.label == "unsure" else "kept"


def right(script: LabelledScript, decision: ScriptDecision) -> bool:
    """Whether a decision is the right one, or no mistake."""
    return _LABEL_OF.get(outcome(script, decision)) in script.accepted


def confusion(scripts: Iterable[LabelledScript], decisions: Mapping[str, ScriptDecision]) -> list[KindCounts]:
    """Counts by kind and right verdict, in the order of the kinds, good ones first.

    Args:
        scripts: Labelled scripts.
        decisions: What was decided, by key.

    Raises:
        UserError: nothing was decided on one of the scripts.
    """
    groups: dict[tuple[str, str], list[LabelledScript]] = defaultdict(list)
    for script in scripts:
        if script.key not in decisions:
            raise UserError("nothing was decided on a labelled script", where=script.key)
        groups[(script.kind, script.verdict)].append(script)
    kinds = list(ScriptKind.__args__)  # type: ignore[attr-defined]
    rows = []
    for kind, verdict in sorted(groups, key=lambda g: (kinds.index(g[0]), g[1] != "keep", g[1])):
        group = groups[(kind, verdict)]
        outcomes = Counter(outcome(s, decisions[s.key]) for s in group)
        hits = sum(right(s, decisions[s.key]) for s in group)
        rows.append(KindCounts(kind, verdict, len(group), outcomes, wilson_interval(hits, len(group))))
    return rows
