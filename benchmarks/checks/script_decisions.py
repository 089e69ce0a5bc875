"""Labelled scripts taken through the cut and the checks as construction takes a model's reply."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.checks.script_benchmark import LabelledScript, ScriptDecision
from construction.checks import CheckInputs, judge
from construction.checks.script_format import complaint
from construction.prompts.prompt_file import load_prompt
from construction.scripts.script_step import Draft, ScriptAsk, ScriptStep, StepList, script_of
from construction.scripts.truncation import cut_script
from curation.checks.store_checks import StoreCheck, run_check
from curation.store.store import Store
from schemas.core.records import Record
from schemas.facts import Fact
from schemas.scripts import ScriptQuestion
from schemas.verdicts import Label, Verdict

_WORST: Mapping[Label | None, int] = {"drop": 2, "unsure": 1}


def decisions_by_rules(scripts: Iterable[LabelledScript]) -> dict[str, ScriptDecision]:
    """What the cut and the rule checks decide on each script, by key."""
    return {script.key: _decide(*_run_rules(script)[1:]) for script in scripts}


def decisions_with(
    scripts: Sequence[LabelledScript],
    check: StoreCheck,
    folder: Path,
    *,
    threshold: float | None = None,
    below: float | None = None,
    judged: Collection[str] | None = None,
) -> dict[str, ScriptDecision]:
    """What the rules and one store check decide together: the sterner of the two verdicts counts.

    What the rules drop does not reach the check. The items go into a store in the folder, so a second call in the same
    folder judges only what is still due.

    Args:
        scripts: Labelled scripts.
        check: A check on questions or on prompts.
        folder: For the store.
        threshold: For a check that measures: values from here on count as ``drop``.
        below: For a check that measures: values under this count as ``drop``.
        judged: Keys of the scripts that the check reads; None for all. Of the others only the facts stand in the store,
            so that a draw is measured with the same rivals as the whole, and the rules alone decide on them.
    """
    records: dict[str, Record] = {}
    ways: dict[str, tuple[list[Record], list[Verdict], str | None]] = {}
    for script in scripts:
        way = ways[script.key] = _run_rules(script)
        if _decide(*way[1:]).label != "drop":
            read = judged is None or script.key in judged
            records |= {r.key: r for r in way[0] if read or isinstance(r, Fact)}
    folder.mkdir(parents=True, exist_ok=True)
    with Store.open(folder / "labelled_scripts.duckdb", create=True) as store:
        store.put(records.values())
        run_check(store, check)
        verdicts_by_item = {v.item_id: v for v in store.verdicts() if v.by == check.by and v.model == check.model}
    decisions = {}
    for key, (script_records, verdicts, prompt) in ways.items():
        more = [_as_label(verdicts_by_item[r.id], threshold, below) for r in script_records if r.id in verdicts_by_item]
        decisions[key] = _decide([*verdicts, *more], prompt)
    return decisions


def _run_rules(script: LabelledScript) -> tuple[list[Record], list[Verdict], str | None]:
    """The records that come of a script, the verdicts of the rules on them, and the text of the prompt."""
    fact = script.fact
    question = ScriptQuestion(key=f"{script.key}/q", fact=fact.key, text=script.question)
    records: list[Record] = [fact, question]
    verdicts = judge("question", CheckInputs(fact=fact, question=question))
    step = ScriptStep(load_prompt("scripts", "paper"))
    ask = ScriptAsk(question=question, old=fact.old)
    draft: Draft = step.parse(ask, StepList(steps=list(script.steps)))[0]
    if complaint(draft) is not None:
        return (
            records,
            [*verdicts, *judge("draft", CheckInputs(fact=fact, question=question, draft=draft))],
            None,
        )
    draft_script = script_of(question, draft)
    prompt = cut_script(fact, question, draft_script)
    inputs = CheckInputs(fact=fact, question=question, draft=draft, script=draft_script, prompt=prompt)
    records += [draft_script, prompt] if prompt is not None else [draft_script]
    for stage in ("draft", "script", "prompt") if prompt is not None else ("draft", "script"):
        verdicts += judge(stage, inputs)
    return records, verdicts, None if prompt is None else prompt.text


def _as_label(verdict: Verdict, threshold: float | None, below: float | None) -> Verdict:
    value = verdict.value
    if value is not None and threshold is not None and value >= threshold:
        return verdict.model_copy(update={"label": "drop", "reason": f"{value:.2f} is at least {threshold:.2f}"})
    if value is not None and below is not None and value < below:
        return verdict.model_copy(update={"label": "drop", "reason": f"{value:.2f} is below {below:.2f}"})
    return verdict


def _decide(verdicts: Iterable[Verdict], prompt: str | None) -> ScriptDecision:
    against = sorted((v for v in verdicts if v.label in _WORST), key=lambda v: -_WORST[v.label])
    label: Label = against[0].label or "keep" if against else "keep"
    return ScriptDecision(label, prompt, tuple(f"{v.check}: {v.reason}" for v in against))
