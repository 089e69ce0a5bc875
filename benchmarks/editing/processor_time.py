"""Processor time of an edit against the plain way, one thread, both ways in turn: in groups, alone, and in arithmetic.

    python -m benchmarks.editing.processor_time --write                       all, into results; half an hour
    python -m benchmarks.editing.processor_time ft --rounds 1 --edits 8       one method, one round, groups of eight
    python -m benchmarks.editing.processor_time memit --rounds 1 --plain 24   all of the group the plain way, too

A round makes another edit the plain way (``benchmarks/support/naive_reference.py``; six of them with FT), makes the
same alone, and makes a whole group together. Edits differ in length, so the ratio of a group scales the plain way's
seconds for the round's edits to the group's mean by the tokens that it reads, which is a guess: of equal lengths some
take half as long again. ``--plain`` with the size of the group leaves nothing to guess. Processor seconds bear other
load better than the clock does; every figure is the median over rounds, with its range. Floating-point operations are
counted, not timed: their ratio is what an engine of equal efficiency would reach. They are counted over two and four
steps and carried on in a straight line to the most steps there may be. The floor of ours is the time of its products
with weights alone, each made again with other numbers, one after the other: what an engine would take that did nothing
else.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.run import write
from benchmarks.support import naive_reference as plain
from benchmarks.support.workload import facts, script_cases, search_of, templates
from curation.files.artifact_cache import Cache
from curation.files.model_packages import cache_dir
from evaluation.editors.locate_edit.parts.context_templates import fill
from evaluation.editors.presets import make_editor
from evaluation.edits.weight_deltas import LowRankDelta
from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.request import EditedProbes
from evaluation.models.language_model import LM
from evaluation.models.processor import head_reading, tiled_weights, tiles
from schemas.facts import Fact

EDITS, CASES = 24, 8
METHODS = ("rome", "memit", "ft", "scripts")
PLAIN = {"ft": 6}  # edits of a round that are made the plain way, where it is not one


def seconds(run: Callable[[], Any]) -> float:
    """Processor seconds of a call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def operations(run: Callable[[], Any]) -> float:
    """Billions of floating-point operations of a call, matrix products and attention."""
    with patch.object(tiled_weights, "can_tile", lambda _: False), FlopCounterMode(display=False) as counter:
        run()
    return float(counter.get_total_flops()) / 1e9


def floor_seconds(run: Callable[[], Any], *, attention: bool = False) -> float | None:
    """Processor seconds of a call's products by tiles and readings of the head; None where this machine has none.

    Args:
        run: The call.
        attention: Count PyTorch's own attention as well: that of long rows, and of short ones without a mask.
    """
    replays: list[Callable[[], Any]] = []
    drawn: dict[tuple[int, ...], torch.Tensor] = {}
    own, attend = tiles.Tiles.product, torch.nn.functional.scaled_dot_product_attention
    own_seven = tiles.Tiles.seven
    read = head_reading.read_head

    def draw(shape: torch.Size) -> torch.Tensor:
        if tuple(shape) not in drawn:
            drawn[tuple(shape)] = torch.randn(shape)
        return drawn[tuple(shape)]

    def note(own_tiles: Any, states: torch.Tensor, weight: Any, bias: Any = None, *, back: bool = False) -> Any:
        shape = states.shape
        replays.append(lambda: own_tiles.product(draw(shape), weight, bias, back=back))
        return own(own_tiles, states, weight, bias, back=back)

    def note_seven(own_tiles: Any, left: torch.Tensor, *weights: torch.Tensor) -> Any:
        shape = left.shape
        replays.append(lambda: own_seven(own_tiles, draw(shape), *weights))
        return own_seven(own_tiles, left, *weights)

    def note_attention(query: Any, key: Any, value: Any, **more: Any) -> Any:
        shapes = (query.shape, key.shape, value.shape)
        if attention:
            replays.append(lambda: attend(*map(draw, shapes), **more))
        return attend(query, key, value, **more)

    def note_head(states: torch.Tensor, weight: torch.Tensor) -> Any:
        shape = states.shape
        replays.append(lambda: read(draw(shape), weight))
        return read(states, weight)

    functional = torch.nn.functional
    with (
        patch.object(head_reading, "read_head", note_head),
        patch.object(tiles.Tiles, "product", note),
        patch.object(tiles.Tiles, "seven", note_seven),
        patch.object(functional, "scaled_dot_product_attention", note_attention),
    ):
        run()

    def again() -> None:
        with torch.no_grad():
            for replay in replays:
                replay()

    return seconds(again) if replays else None


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median, least and most."""
    return {"median": round(median(values), 3), "least": round(min(values), 3), "most": round(max(values), 3)}


class Method:
    """A method both ways.

    Args:
        lm: The model.
        name: ``rome``, ``memit`` or ``ft``.
        cache: Where templates and second moments are kept.
        steps: The most steps of an edit; the method's own number where it is not given.
    """

    def __init__(self, lm: LM, name: str, cache: Cache, *, steps: int | None = None) -> None:
        settings: dict[str, Any] = {} if steps is None else {"steps": steps}
        if name == "memit":
            settings["lam"] = 100.0
        elif name == "rome":
            settings["templates"] = templates(lm, cache, ((5, 10), (10, 10)))
        self.lm, self.name = lm, name
        self.editor = make_editor(name, lm, cache, settings)
        self.editor.prepare(())
        self.params: Any = self.editor.params
        if name == "rome":
            self.inverse = torch.linalg.inv(self.editor._material()[1].second.double()).float()  # type: ignore[attr-defined]

    def plainly(self, fact: Fact) -> Any:
        """One edit the plain way."""
        lm, p = self.lm, self.params
        if self.name == "ft":
            return plain.ft(lm, p.layer, fact, steps=p.steps, lr=p.lr, stop_below=p.stop_below)
        texts, moments = self.editor._material()  # type: ignore[attr-defined]
        if self.name == "rome":
            return plain.rome(lm, p.layer, fact, texts, self.inverse, search_of(p))
        seconds_of = {n: m.second for n, m in moments.items()}
        return plain.memit(lm, p.layers, [fact], texts, seconds_of, p.lam, search_of(p))

    def tokens(self, fact: Fact) -> int:
        """Tokens of a pass of the plain way, padding included."""
        if self.name == "ft":
            return self.lm.encode(fact.fact_prompt, fact.new_object.text).first
        texts = self.editor._material()[0]  # type: ignore[attr-defined]
        rows = [self.lm.encode(fill(text, fact.fact_prompt), fact.new_object.text).ids[:-1] for text in texts]
        return (len(rows) + 1) * max(map(len, rows))


def counted(lm: LM, name: str, cache: Cache, run: Callable[[Method], Any], *, steps: int) -> float:
    """Billions of operations of an edit that goes to its last step."""
    two, four = (operations(partial(run, Method(lm, name, cache, steps=n))) for n in (2, 4))
    return two + (four - two) / 2 * (steps - 2)


def method(
    lm: LM,
    name: str,
    cache: Cache,
    rounds: int,
    edits: int,
    *,
    plainly: int | None = None,
    most: int | None = None,
    count: bool = True,
) -> dict[str, Any]:
    """One method: rounds of the plain way, alone, and together; ``most`` steps, operations counted or not.

    ``plainly`` edits of a round are made the plain way and alone.
    """
    wanted, which = facts(edits)
    both = Method(lm, name, cache, steps=most)
    mean_tokens = sum(map(both.tokens, wanted)) / len(wanted)
    both.editor.edit_each(wanted[:1])  # factors are made, kernels warm
    seconds_by_way: dict[str, list[float]] = {
        key: [] for key in ("plain", "alone", "group", "ratio_alone", "ratio_group")
    }
    for n in range(rounds):
        step = len(wanted) // (plainly or PLAIN.get(name, 1))
        some = wanted[(2 + 3 * n) % step :: step]
        slow = sum(seconds(partial(both.plainly, fact)) for fact in some) / len(some)
        alone = sum(seconds(partial(both.editor.edit_each, [fact])) for fact in some) / len(some)
        group = seconds(partial(both.editor.edit_each, wanted)) / len(wanted)
        every = slow * mean_tokens / (sum(map(both.tokens, some)) / len(some))
        for key, value in zip(seconds_by_way, (slow, alone, group, slow / alone, every / group), strict=True):
            seconds_by_way[key].append(value)
        print(f"{name} {n}: {slow:.2f} {alone:.2f} {group:.2f}", file=sys.stderr, flush=True)
    fact, steps = wanted[2], both.params.steps
    floors = {"alone": [[one] for one in some], "group": [wanted]}
    out = {
        "facts": which,
        "rounds": rounds,
        "steps": steps,
        "processor_seconds_an_edit": {key: spread(seconds_by_way[key]) for key in ("plain", "alone", "group")},
        "ratio_alone": spread(seconds_by_way["ratio_alone"]),
        "ratio_group": spread(seconds_by_way["ratio_group"]),
        "floor_seconds_an_edit": {
            key: None if None in by_call else round(sum(by_call) / sum(map(len, calls)), 3)
            for key, calls in floors.items()
            for by_call in [[floor_seconds(partial(both.editor.edit_each, edited)) for edited in calls]]
        },
    }
    if not count:
        return out
    much = counted(lm, name, cache, lambda m: m.plainly(fact), steps=steps)
    little = counted(lm, name, cache, lambda m: m.editor.edit_each([fact]), steps=steps)
    together = counted(lm, name, cache, lambda m: m.editor.edit_each(wanted), steps=steps) / len(wanted)
    return {
        **out,
        "giga_operations_an_edit": {"plain": round(much), "alone": round(little), "group": round(together)},
        "ratio_of_operations_alone": round(much / little, 2),
        "ratio_of_operations_group": round(much * mean_tokens / both.tokens(fact) / together, 2),
    }


def scripts(lm: LM, cache: Cache, rounds: int, *, count: bool = True) -> dict[str, Any]:
    """Script prompts, twelve a case, two targets each, a rank-one edit a case; the plain way on one case a round."""
    cases, layer = script_cases(lm, CASES), make_editor("rome", lm, cache).params.layer
    draw = torch.Generator().manual_seed(0)
    deltas = []
    for _ in cases:
        left, right = (torch.randn(size, 1, generator=draw) for size in (lm.layout.width, lm.layout.inner))
        deltas.append([LowRankDelta(lm.layout.weight(layer), left / left.norm(), right / right.norm())])
    scorer = EditScorer(lm, layers=[layer])
    scorer.score(
        [EditedProbes((), None, probes) for probes in cases]
    )  # what stands below the edit is kept, as in a run
    edited = [EditedProbes(delta, None, probes) for delta, probes in zip(deltas, cases, strict=True)]

    def theirs(n: int) -> None:
        with plain.in_force(lm, deltas[n]):
            plain.evaluate(lm, cases[n])

    def ours() -> None:
        scorer.score(edited)

    def width(n: int) -> int:
        return max(len(lm.encode(p.prompt, t, separator=p.separator).ids) for p in cases[n] for t in p.targets)

    mean_width = sum(map(width, range(len(cases)))) / len(cases)
    seconds_by_way: dict[str, list[float]] = {"plain": [], "group": [], "ratio_group": []}
    for n in range(rounds):
        slow, fast = seconds(partial(theirs, n)), seconds(ours) / len(cases)
        for key, value in zip(seconds_by_way, (slow, fast, slow * mean_width / width(n) / fast), strict=True):
            seconds_by_way[key].append(value)
        print(f"scripts {n}: {slow:.2f} {fast:.2f}", file=sys.stderr, flush=True)
    floor, floor_attention = floor_seconds(ours), floor_seconds(ours, attention=True)
    out = {
        "cases": len(cases),
        "rounds": rounds,
        "processor_seconds_a_case": {key: spread(seconds_by_way[key]) for key in ("plain", "group")},
        "ratio_group": spread(seconds_by_way["ratio_group"]),
        "floor_seconds_a_case": floor and round(floor / len(cases), 3),
        "floor_with_attention_seconds_a_case": floor_attention and round(floor_attention / len(cases), 3),
    }
    if not count:
        return out
    much, little = operations(partial(theirs, 0)) * mean_width / width(0), operations(ours) / len(cases)
    return {
        **out,
        "giga_operations_a_case": {"plain": round(much), "group": round(little)},
        "ratio_of_operations_group": round(much / little, 2),
    }


def main(
    methods: Sequence[str] = METHODS,
    *,
    rounds: int = 3,
    edits: int = EDITS,
    plainly: int | None = None,
    steps: int | None = None,
    count: bool = True,
) -> dict[str, Any]:
    """Run it on one thread."""
    torch.set_num_threads(1)
    lm, cache = LM.load("embedded", device="cpu"), Cache(cache_dir())
    out: dict[str, Any] = {"model": "SmolLM2-135M-Instruct (embedded), float32, cpu", "threads": 1}
    for name in methods:
        if name == "scripts":
            out[name] = scripts(lm, cache, rounds, count=count)
        else:
            out[name] = method(lm, name, cache, rounds, edits, plainly=plainly, most=steps, count=count)
        out[name]["load_average"] = round(os.getloadavg()[0], 1)
        print(f"{name}: {json.dumps(out[name])}", file=sys.stderr, flush=True)
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", default=list(METHODS), help=f"of {', '.join(METHODS)}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--edits", type=int, default=EDITS, help="in a group")
    parser.add_argument("--plain", type=int, help="edits of a round that are made the plain way; all of a group: exact")
    parser.add_argument("--steps", type=int, help="the most of an edit, instead of the method's own number")
    parser.add_argument("--no-operations", action="store_true", help="time only; counting takes as long again")
    parser.add_argument("--write", action="store_true", help="keep the result in results/processor_time.json")
    options = parser.parse_args()
    results = main(
        options.methods,
        rounds=options.rounds,
        edits=options.edits,
        plainly=options.plain,
        steps=options.steps,
        count=not options.no_operations,
    )
    if options.write:
        write("processor_time", results)
    else:
        print(json.dumps(results, indent=1))
