"""Sequences of a thousand edits: the split that they take, and figures of finished runs.

    python -m benchmarks.editing.sequences split --counterfact FOLDER --out runs/sequences.jsonl
    nice scedit run configs/sequences.toml
    python -m benchmarks.editing.sequences figures runs/sequences --write
    python -m benchmarks.editing.sequences growth --write

growth     what of an edit grows with the number of edits before it, each part alone
split      1,000 cases: the first 10 counterfactual cases of `mini` in the order of their keys, which have scripts, and
           990 facts of CounterFact (flat files; none of their texts is committed), drawn by a seed, one a subject,
           without subjects of the ten
figures    of every method at every length: ES, PS, NS, S-ES, S-NS, S-ES-gen, perplexity of general texts, norms,
           seconds and memory an edit; edits a second, and where time or memory grows (results/editing/sequences.json)

The order is `scripts_first`: the ten cases with scripts are edits 1 to 10, and are asked at every length. Of longer
lengths a sample of 40 is asked: these ten and 30 drawn from the others. Processor seconds bear other load better than
the clock does.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch
from torch import Tensor

from benchmarks.run import machine, write
from curation import mini_split
from curation.loaders import load
from curation.splits.split_file import Split, make_split, write_split
from curation.stats.bounded import bounded_interval
from curation.stats.intervals import Interval
from evaluation.analysis.sequences import forgetting_points, sequence_states
from evaluation.editors.gradient_step.ultraedit import FeatureStatistics
from evaluation.editors.locate_edit.closed_forms import columns
from evaluation.editors.locate_edit.stabilisers import damping
from evaluation.edits.codebook import Codebook, with_key
from evaluation.edits.weight_deltas import DenseDelta, LowRankDelta
from evaluation.metrics.generation import load_metrics
from evaluation.regimes.base import edits_digests
from evaluation.regimes.sequence_log import EditEntry, SequenceEntries
from evaluation.runs.generated_scripts import generation_of
from evaluation.runs.results import Run, all_cases_by_key, load_run
from schemas.cases import Case
from schemas.core.ids import seed
from schemas.facts import Fact

SCRIPTS, EDITS, SEED = 10, 1000, 0
RESULTS = Path(__file__).resolve().parents[1] / "results" / "editing" / "sequences.json"
FILES = ("counterfact-edit.json", "counterfact-train.json", "counterfact-val.json")


def build_split(facts: Sequence[Fact], *, edits: int = EDITS, scripts: int = SCRIPTS) -> Split:
    """So many cases: some with scripts, then facts drawn by seed, one a subject.

    Args:
        facts: CounterFact's.
        edits: Cases in all.
        scripts: Cases of `mini` among them.
    """
    own = [case for case in mini_split().cases if case.fact.change == "counterfactual"][:scripts]
    taken = {name.casefold() for case in own for name in (case.fact.subject.text, *case.fact.subject.aliases)}
    drawn: list[Case] = []
    for fact in sorted(facts, key=lambda f: (seed(str(SEED), f.key, "sequence"), f.key)):
        subject = fact.subject.text.casefold()
        if len(drawn) == edits - len(own) or subject in taken or not (fact.paraphrases and fact.neighbour_prompts):
            continue
        taken.add(subject)
        drawn.append(Case(key=f"case/{fact.key}", fact=fact))
    return make_split("sequences", [*own, *drawn], details={"drawn": f"seed {SEED}, one a subject"})


def counterfact(folder: Path) -> Iterator[Fact]:
    """Facts of the flat files of a folder."""
    for name in FILES:
        if (folder / name).is_file():
            yield from load(folder / name, "counterfact-flat").facts


METRICS = ("es", "ps", "ns", "s_es", "s_ns", "s_es_gen")
WINDOW = 100


def figures(run: Run) -> dict[str, Any]:
    """What a run says of its sequences: scores, states, and what an edit takes as the sequence grows."""
    points = forgetting_points(run, load_metrics(METRICS, generation_of(run)), run.about["normalisation"])
    scores = [
        {"method": p.label, "edits": p.edits, "metric": p.metric, "all": plain(p.all), "after_own_edit": plain(p.new)}
        for p in points
    ]
    states = []
    for state in sequence_states(run):
        row = {name: plain(value) if isinstance(value, Interval) else value for name, value in state.items()}
        states.append({**row, "norms": {norm["weight"]: [norm["norm"], norm["ratio"]] for norm in state["norms"]}})
    return {
        "model": run.about["model"],
        "split": f"{run.split.name} {run.split.digest[:12]}, {len(run.split.all_cases)} cases",
        "regime": run.about["config"]["regime"],
        "scores": scores,
        "states": states,
        "growth": growth(run),
    }


def growth(run: Run) -> dict[str, list[dict[str, Any]]]:
    """By method, of every hundred edits: processor seconds an edit with their interval, edits a second, most memory."""
    digests, out = edits_digests(list(all_cases_by_key(run).values())), dict[str, list[dict[str, Any]]]()
    for editor in run.editors[1:]:
        if editor.folder is None:
            continue
        entries = SequenceEntries(editor.folder.path, digests).edits
        windows = [
            [e for e in entries if start < e.after <= start + WINDOW] for start in range(0, len(digests), WINDOW)
        ]
        out[editor.label] = [window(some) for some in windows if some]
    return out


def window(entries: Sequence[EditEntry]) -> dict[str, Any]:
    """Some edits in a row."""
    spent = [entry.processor_seconds for entry in entries]
    return {
        "edits": [entries[0].after, entries[-1].after],
        "processor_seconds": plain(bounded_interval(spent, None)),
        "edits_a_processor_second": round(len(spent) / sum(spent), 3),
        "peak_mib": round(max(entry.peak_bytes or 0 for entry in entries) / 2**20),
        "failed": sum(entry.error is not None for entry in entries),
    }


def plain(interval: Interval) -> list[float | int | None]:
    """Mean, low and high end, n."""
    rounded = [None if x is None else float(f"{x:.4g}") for x in (interval.mean, interval.low, interval.high)]
    return [*rounded, interval.n]


EARLIER = (0, 100, 300, 1000, 3000)
LAYERS_OF_SPREAD = 5


def by_earlier(earlier: Sequence[int] = EARLIER, *, inner: int = 1536, width: int = 576) -> dict[str, Any]:
    """What of an edit grows with the edits before it, at the shapes of SmolLM2, keys drawn: processor seconds.

    accumulate   the solve with all earlier keys, five layers (`memit` with it, `alphaedit`)
    prune        singular values of the sum of all changes, five layers
    grace        the nearest of all keys, and one more entered
    ultraedit    statistics: sums carried on, beside all parts added up anew (as before they were carried)
    """
    draw = torch.Generator().manual_seed(0)
    basis = torch.randn(2 * inner, inner, generator=draw, dtype=torch.float64)
    lower = torch.linalg.cholesky(basis.T @ basis / (2 * inner) + 0.1 * torch.eye(inner, dtype=torch.float64))
    original = torch.randn(width, inner, generator=draw)
    rows = []
    for count in earlier:
        held = torch.randn(count, inner, generator=draw)
        own, value = torch.randn(1, 1, inner, generator=draw), torch.randn(width, generator=draw)
        left = torch.randn(width, count + 1, generator=draw) * 1e-3
        total: Any = LowRankDelta("w", left, torch.cat([held, own[0]]).T.contiguous())
        if (count + 1) * (inner + width) >= inner * width:
            total = DenseDelta("w", total.matrix())
        parts = [FeatureStatistics.of(torch.randn(2, inner + width, generator=draw)) for _ in range(count + 2)]
        carried = FeatureStatistics.total(parts[:-1])
        book = Codebook("w", held, torch.zeros(count, width), torch.ones(count), ((1,),) * count) if count else None
        calls: dict[str, Callable[[], object]] = {
            "accumulate": lambda held=held, own=own: spread_solve(own, held, lower),  # type: ignore[misc]
            "prune": lambda total=total: [damping(total, original) for _ in range(LAYERS_OF_SPREAD)],  # type: ignore[misc]
            "grace": lambda book=book, own=own, value=value: with_key(  # type: ignore[misc]
                book, own[0, 0], (2,), value, weight="w", eps=1.0
            ),
            "ultraedit": lambda carried=carried, parts=parts: five(carried, parts[-1:]),  # type: ignore[misc]
            "ultraedit, parts anew": lambda parts=parts: five(parts[0], parts[1:]),  # type: ignore[misc]
        }
        held_mib = {
            "accumulate": LAYERS_OF_SPREAD * held.numel() * 4 / 2**20,
            "grace": count * (inner + width) * 4 / 2**20,
            "ultraedit, parts anew": LAYERS_OF_SPREAD * count * 2 * (inner + width) * 8 / 2**20,
        }
        for name, call in calls.items():
            seconds = [timed(call) for _ in range(ROUNDS)]
            row = {"what": name, "earlier": count, "processor_seconds": float(f"{min(seconds):.3g}")}
            rows.append(row | {"held_mib": round(held_mib.get(name, 0.0), 1)})
    return {"shapes": {"inner": inner, "width": width, "layers": LAYERS_OF_SPREAD}, "rounds": ROUNDS, "rows": rows}


ROUNDS = 2


def timed(call: Callable[[], object]) -> float:
    """Processor seconds of a call."""
    begun = time.process_time()
    call()
    return time.process_time() - begun


def five(first: FeatureStatistics, rest: Sequence[FeatureStatistics]) -> list[FeatureStatistics]:
    """Statistics of five layers added up."""
    return [FeatureStatistics.total([first, *rest]) for _ in range(LAYERS_OF_SPREAD)]


def spread_solve(own: Tensor, held: Tensor, lower: Tensor) -> list[object]:
    """The solve of one edit beside earlier keys, five layers."""

    def metric(keys: Tensor) -> Tensor:
        solved: Tensor = torch.cholesky_solve(keys.double().reshape(-1, keys.shape[-1]).T, lower).T
        return solved.reshape(keys.shape)

    one = [columns(own, metric, penalty=None, fraction=0.95, earlier=held) for _ in range(LAYERS_OF_SPREAD)]
    return list(one)


def tables(result: dict[str, Any]) -> Iterator[str]:
    """Markdown: scores of every method and length, then what an edit takes."""
    yield "| method | edits | cases | " + " | ".join(METRICS) + " | perplexity | over unedited |"
    yield "| " + " | ".join(["---"] * (len(METRICS) + 5)) + " |"
    for state in result["states"]:
        mine = [s for s in result["scores"] if (s["method"], s["edits"]) == (state["label"], state["edits"])]
        by_metric = {s["metric"]: s["all"] for s in mine}
        cells = [_percent(by_metric.get(name)) for name in METRICS]
        cases = max((s["all"][3] for s in mine), default=0)
        more = [_number(state["perplexity"]), f"×{_number(state['ratio'])}"]
        yield f"| {state['label']} | {state['edits']:,} | {cases} | " + " | ".join([*cells, *more]) + " |"
    yield ""
    yield "| method | edits | processor s an edit | edits a processor second | peak MiB | failed |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for label, windows in result["growth"].items():
        for row in windows:
            first, last = row["edits"]
            cells = [_number(row["processor_seconds"]), str(row["edits_a_processor_second"]), f"{row['peak_mib']:,}"]
            yield f"| {label} | {first:,} to {last:,} | " + " | ".join([*cells, str(row["failed"])]) + " |"


def _percent(value: list[Any] | None) -> str:
    if value is None or value[0] is None:
        return "–"
    ends = "" if value[1] is None or value[2] is None else f" [{100 * value[1]:.0f}, {100 * value[2]:.0f}]"
    return f"{100 * value[0]:.0f}{ends}, {value[3]}"


def _number(value: list[Any]) -> str:
    if value[0] is None:
        return "–"
    return f"{value[0]:.3g}" + ("" if value[1] is None else f" [{value[1]:.3g}, {value[2]:.3g}]")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    split = commands.add_parser("split")
    split.add_argument("--counterfact", type=Path, required=True)
    split.add_argument("--edits", type=int, default=EDITS)
    split.add_argument("--out", type=Path, default=Path("runs/sequences.jsonl"))
    grown = commands.add_parser("growth")
    grown.add_argument("--write", action="store_true")
    shown = commands.add_parser("figures")
    shown.add_argument("run", type=Path)
    shown.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    if options.command == "split":
        made = build_split(list(counterfact(options.counterfact)), edits=options.edits)
        write_split(made, options.out)
        print(f"{options.out}: {len(made.all_cases)} cases, digest {made.digest[:12]}")
        return
    known = json.loads(RESULTS.read_text())["result"] if RESULTS.exists() else {}
    if options.command == "growth":
        torch.set_num_threads(1)
        result = {"by_earlier": by_earlier()}
        print(json.dumps(result, indent=1))
    else:
        result = figures(load_run(options.run))
        print("\n".join(tables(result)))
    if options.write:
        write("editing/sequences", {**known, **result}, around=machine())


if __name__ == "__main__":
    main()
