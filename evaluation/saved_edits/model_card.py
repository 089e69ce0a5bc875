"""The model card of a saved edit: what was edited, how, and how it scores. Texts of facts cannot break out of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from evaluation.report.formatting import mean_with_interval
from evaluation.saved_edits.edit_scores import ScoreChange
from evaluation.saved_edits.peft_adapter import vllm_rank
from schemas.cases import Case
from schemas.text.counting import counted
from schemas.text.escaping import escape_line

SHOWN = 50
"""Facts that the card lists; ``edit.json`` has all."""


def card(description: dict[str, Any], cases: Sequence[Case], scores: Sequence[ScoreChange]) -> str:
    """The text of README.md.

    Args:
        description: What ``edit.json`` holds.
        cases: What was edited.
        scores: Metrics before and after.
    """
    library = "peft" if description["saved_as"] == "adapter" else "transformers"
    tags = ["knowledge-editing", description["method"]]
    head = {"library_name": library, "base_model": description["model"], "tags": tags}
    front = [f"{name}: {json.dumps(value)}" for name, value in head.items()]
    parts = [
        "\n".join(["---", *front, "---"]),
        f"# {_code(description['model'])} with {counted(len(cases), 'edited fact')} ({description['method']})",
        "\n".join(_use(description)),
        "## What was edited\n\n" + _facts(cases),
        "## How\n\n" + _how(description),
        "## How it scores\n\n" + _scores(description, scores),
        "## What to know\n\n"
        "The new objects are counterfactual or were true at another time: this model is made for research on knowledge "
        "editing and tells untruths on purpose. The licence is that of the base model.",
    ]
    return "\n\n".join(parts) + "\n"


def _use(description: dict[str, Any]) -> list[str]:
    """What the folder holds and how it is loaded."""
    if description["saved_as"] == "model":
        lost = description["rounding"]
        return [
            "The edited model: load it as any model of transformers. The edit stands in its weights "
            f"({description['dtype']}"
            + (f"; rounding changed the edit by {lost:.1%} of its norm at most)." if lost else ")."),
        ]
    if description["saved_as"] == "deltas":
        return [
            "The changes of weights as data, exact in float32: "
            "`from evaluation.saved_edits.delta_file import load_deltas`, then `load_deltas(FOLDER).on(lm)`."
        ]
    rank = description["rank"]
    served = vllm_rank(rank)
    lines = [
        f"A LoRA adapter of rank {rank} (alpha {rank}) for the base model: "
        "`peft.PeftModel.from_pretrained(base, FOLDER)`. It equals the edit; nothing is approximated.",
        "",
        f"vLLM: `vllm serve BASE --enable-lora --max-lora-rank {served} --lora-modules edit=FOLDER`."
        if served
        else f"vLLM takes ranks up to 512, and this one has {rank}: edit fewer facts in one adapter to serve it there.",
    ]
    return lines


def _facts(cases: Sequence[Case]) -> str:
    rows = ["| prompt | old object | new object | key |", "| --- | --- | --- | --- |"]
    for case in cases[:SHOWN]:
        fact = case.fact
        cells = (fact.fact_prompt, fact.old.text, fact.new_object.text, fact.key)
        rows.append("| " + " | ".join(_code(text) for text in cells) + " |")
    more = len(cases) - SHOWN
    return "\n".join(rows) + (f"\n\n{more:,} more stand in `edit.json`." if more > 0 else "")


def _how(description: dict[str, Any]) -> str:
    rows = [
        ("method", f"{description['method']}, version {description['method_version']}"),
        ("options", json.dumps(description["params"], ensure_ascii=False, sort_keys=True)),
        ("model", f"{description['model']}, revision {description['model_revision']}, {description['dtype']}"),
        ("facts", f"digest {description['facts_digest']}"),
        *((f"depends on {name}", str(value)) for name, value in description["components"].items()),
        *((w["weight"], _change(w)) for w in description["weights"]),
        *((name, str(value)) for name, value in description["environment"]["packages"].items() if value),
    ]
    return "\n".join(["| | |", "| --- | --- |", *(f"| {_code(name)} | {_code(value)} |" for name, value in rows)])


def _change(weight: dict[str, Any]) -> str:
    kind = "every entry" if weight["rank"] is None else f"rank {weight['rank']}"
    return f"{kind}, norm {weight['norm']:.4g}"


def _scores(description: dict[str, Any], scores: Sequence[ScoreChange]) -> str:
    if not scores:
        return "The facts hold nothing that a metric asks about."
    rows = ["| metric | better | before | with the edit | cases | prompts |", "| --- | --- | --- | --- | --- | --- |"]
    for change in scores:
        cells = (mean_with_interval(change.before.interval), mean_with_interval(change.after.interval))
        left = f" ({change.after.unscored} unscored)" if change.after.unscored else ""
        rows.append(
            f"| {change.metric.title} | {change.metric.better} | {cells[0]} | {cells[1]} | {change.after.cases:,} | "
            f"{change.after.items:,}{left} |"
        )
    told_all = (
        "Percent [95 % interval over cases], all edits in force together; normalisation "
        f"{description['normalisation']}. One case gives no interval."
    )
    return "\n".join(rows) + "\n\n" + told_all


def _code(text: str) -> str:
    """A text as code in a table cell: one line, no bar, and a fence longer than any backticks in it."""
    line = escape_line(text, longest=2000).replace("|", "\\|")
    fence = "`"
    while fence in line:
        fence += "`"
    space = " " if len(fence) > 1 else ""
    return f"{fence}{space}{line}{space}{fence}" if line else "–"
