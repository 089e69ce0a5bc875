"""What construction makes of the labelled scripts that we ship: confusion tables by kind.

Rules alone, or rules with one check of a store on top. The half ``tuning`` is for setting rules and thresholds, the
half ``test`` gives the figures. With --write the tables replace those between the marks in the documentation.

Run: python -m benchmarks.labelled_scripts
     python -m benchmarks.labelled_scripts --wrong
     python -m benchmarks.labelled_scripts --later --half test
     python -m benchmarks.labelled_scripts --check verify_leak --model gpt-4.1
     python -m benchmarks.labelled_scripts --check predictability --model embedded --threshold 2.03
     python -m benchmarks.labelled_scripts --check verify_cut --model local --half test --kinds good,wrong_cut --draw 40
     python -m benchmarks.labelled_scripts --write docs/leakage.md
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple, get_args

from benchmarks.checks.script_benchmark import (
    Half,
    LabelledScript,
    Outcome,
    ScriptDecision,
    ScriptKind,
    confusion,
    fresh_scripts,
    labelled_scripts,
    later_scripts,
    outcome,
    right,
)
from benchmarks.checks.script_decisions import decisions_by_rules, decisions_with
from benchmarks.support.check_options import add_check_options, chosen_check
from curation.checks.store_checks import StoreCheck
from curation.stats.proportions import wilson_interval
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.core.ids import seed
from schemas.scripts import ScriptPrompt, ScriptQuestion

BEGIN = "<!-- written by python -m benchmarks.labelled_scripts --write docs/leakage.md -->"
END = "<!-- end of labelled scripts -->"
Decisions = Mapping[str, ScriptDecision]
WRONG_CUTS = frozenset({"wrong_cut", "homonym", "longer_name", "list_label", "markup", "cut"})


class Share(NamedTuple):
    """A share that the tables give: of which scripts, and what is counted."""

    name: str
    aim: str
    of: Callable[[LabelledScript], bool]
    hit: Callable[[LabelledScript, ScriptDecision], bool]


def _is_flagged(_: LabelledScript, decision: ScriptDecision) -> bool:
    return decision.label != "keep"


def _kept_wrongly(script: LabelledScript, decision: ScriptDecision) -> bool:
    return decision.label == "keep" and not right(script, decision)


SHARES = (
    Share("good items kept, cut in the right place", "95 % or more", lambda s: s.kind == "good", right),
    Share("wrong cuts kept", "5 % or less", lambda s: s.kind in WRONG_CUTS, _kept_wrongly),
    Share(
        "derived names found", "95 % or more", lambda s: (s.kind, s.verdict) == ("derived_name", "drop"), _is_flagged
    ),
    Share("telling words found", "-", lambda s: s.kind == "telling_word", _is_flagged),
    Share("scripts for any object found", "-", lambda s: s.kind == "not_about_object", _is_flagged),
    Share("related knowledge found", "-", lambda s: s.kind == "related_knowledge", _is_flagged),
)


def aims_table(scripts: Sequence[LabelledScript], decisions: Decisions) -> str:
    """The shares that matter, with Wilson intervals, as a Markdown table; one column a half ("-": no item)."""
    lines = ["| share | aim | tuning | test |", "| --- | --- | --- | --- |"]
    for share in SHARES:
        cells = []
        for half in ("tuning", "test"):
            group = [s for s in scripts if share.of(s) and s.half == half]
            hits = sum(share.hit(s, decisions[s.key]) for s in group)
            cells.append(f"{hits} of {len(group)}: {wilson_interval(hits, len(group)).text(2)}" if group else "-")
        lines.append(f"| {share.name} | {share.aim} | {cells[0]} | {cells[1]} |")
    return "\n".join(lines)


def confusion_table(scripts: Sequence[LabelledScript], decisions: Decisions, half: Half) -> str:
    """What became of each kind in one half, as a Markdown table."""
    lines = [
        f"| kind ({half}) | right is | items | kept | cut elsewhere | unsure | dropped | right or no mistake |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in confusion([s for s in scripts if s.half == half], decisions):
        counts = " | ".join(str(row.outcomes.get(o, 0)) for o in get_args(Outcome))
        kind = row.kind.replace("_", " ")
        lines.append(f"| {kind} | {row.verdict} | {row.n} | {counts} | {row.right.text(2)} |")
    return "\n".join(lines)


def draw(
    scripts: Sequence[LabelledScript],
    *,
    half: Half | None = None,
    kinds: Collection[str] = (),
    most: int | None = None,
    seed_number: int = 13,
) -> list[LabelledScript]:
    """Scripts of one half and of some kinds, at most so many of each kind and half, drawn by a seed.

    Args:
        scripts: Labelled scripts.
        half: ``tuning`` or ``test``; None for both.
        kinds: Which kinds; none for all.
        most: The most of each kind in each half; None for all.
        seed_number: Changes the draw.

    Returns:
        The scripts in their own order, so that a draw of more holds every draw of fewer.

    Raises:
        UserError: there is no such kind.
    """
    if unknown := set(kinds) - set(get_args(ScriptKind)):
        raise UserError(f"no kind '{min(unknown)}'", allowed=", ".join(get_args(ScriptKind)))
    groups: dict[tuple[str, str], list[LabelledScript]] = {}
    for script in scripts:
        if half in (None, script.half) and (not kinds or script.kind in kinds):
            groups.setdefault((script.kind, script.half), []).append(script)
    drawn = {
        script.key
        for group in groups.values()
        for script in sorted(group, key=lambda s: seed("labelled scripts", str(seed_number), s.key))[:most]
    }
    return [script for script in scripts if script.key in drawn]


def tables(scripts: Sequence[LabelledScript], decisions: Decisions) -> str:
    """All tables as Markdown; of a half without scripts there is none."""
    order: tuple[Half, ...] = ("test", "tuning")
    halves = [half for half in order if any(s.half == half for s in scripts)]
    parts = [aims_table(scripts, decisions), *(confusion_table(scripts, decisions, half) for half in halves)]
    return "\n\n".join(parts)


def table_of_verdicts(scripts: Sequence[LabelledScript], check: StoreCheck, folder: Path) -> str:
    """What the check alone says of what it read, by kind and half: what the rules drop does not reach it."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    by_key = {script.key: script for script in scripts}
    with Store.open(folder / "labelled_scripts.duckdb") as store:
        fact_of = {question.id: question.fact for question in store.all(ScriptQuestion)}
        fact_of |= {prompt.id: prompt.fact for prompt in store.all(ScriptPrompt)}
        for verdict in store.verdicts():
            script = by_key.get(fact_of.get(verdict.item_id, ""))
            if script is not None and (verdict.by, verdict.model) == (check.by, check.model):
                group = (script.half, script.kind)
                counts[group][verdict.label or "measured"] += 1
                values[group] += [verdict.value] if verdict.value is not None else []
    lines = ["| half | kind | read | keep | unsure | drop | unscored | median value |", "| --- " * 8 + "|"]
    for (half, kind), said in sorted(counts.items()):
        labels = " | ".join(str(said[label]) for label in ("keep", "unsure", "drop", "unscored"))
        middle = f"{median(values[half, kind]):.2f}" if values[half, kind] else "-"
        lines.append(f"| {half} | {kind.replace('_', ' ')} | {said.total()} | {labels} | {middle} |")
    return "\n".join(lines)


def write_tables(page: Path, text: str) -> None:
    """Put tables between the marks of a page.

    Raises:
        UserError: the page does not hold the two marks, in their order.
    """
    old = page.read_text(encoding="utf-8")
    head, begin, rest = old.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise UserError("the page does not hold the marks for the tables", where=str(page), fix=f"{BEGIN} ... {END}")
    page.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{tail}", encoding="utf-8")


def mistakes(scripts: Sequence[LabelledScript], decisions: Decisions) -> str:
    """One paragraph for every script that was decided wrongly."""
    paragraphs = []
    for script in scripts:
        decision = decisions[script.key]
        if not right(script, decision):
            ends = repr(decision.prompt[-50:]) if decision.prompt else "no prompt"
            paragraphs.append(
                f"{script.key}: {outcome(script, decision)}, right is {script.verdict}. {script.why}\n    cut: {ends}"
                + "".join(f"\n    {reason}" for reason in decision.reasons)
            )
    return "\n".join(paragraphs)


def main() -> None:
    """Print the tables, or write them into a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", help="A check on questions or prompts, see: scedit store check --list")
    add_check_options(parser)
    parser.add_argument("--threshold", type=float, help="For a check that measures: drop from here on.")
    parser.add_argument("--below", type=float, help="For a check that measures: drop under this value.")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--later", action="store_true", help="The later scripts instead of the labelled ones.")
    which.add_argument("--fresh", action="store_true", help="The fresh scripts instead of the labelled ones.")
    parser.add_argument("--half", choices=get_args(Half), help="Only this half.")
    parser.add_argument("--kinds", default="", help="Only these kinds, with commas between them.")
    parser.add_argument("--draw", type=int, metavar="N", help="At most N of each kind in each half, drawn by a seed.")
    parser.add_argument("--seed", type=int, default=13, help="Seed of the draw (13).")
    parser.add_argument("--wrong", action="store_true", help="Also list the mistakes on the tuning half.")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="Write the rules' tables into this page.")
    options = parser.parse_args()
    kinds = [kind.strip() for kind in options.kinds.split(",") if kind.strip()]
    whole = later_scripts() if options.later else fresh_scripts() if options.fresh else labelled_scripts()
    scripts = draw(whole, half=options.half, kinds=kinds, most=options.draw, seed_number=options.seed)
    if options.write and (options.later or options.fresh or len(scripts) < len(whole)):
        parser.error("the page takes the tables of all labelled scripts by the present rules: name nothing but --write")
    if options.check is None:
        decisions = decisions_by_rules(scripts)
    else:
        bounds = {"threshold": options.threshold, "below": options.below}
        with chosen_check(options) as (check, folder):
            decisions = decisions_with(whole, check, folder, judged={s.key for s in scripts}, **bounds)
            print(table_of_verdicts(scripts, check, folder) + "\n")
    text = tables(scripts, decisions)
    if options.write:
        write_tables(options.write, text)
    else:
        print(text)
    if options.wrong:
        print("\n" + mistakes([s for s in scripts if s.half == "tuning"], decisions))


if __name__ == "__main__":
    main()
