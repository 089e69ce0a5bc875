"""Editing and scoring of a large model on one GPU against the plain way: a GPT2-XL-shaped model with random weights.

    python -m benchmarks.gpu.against_plain                  float32, 300 cases, 16 the plain way, about 8 minutes
    python -m benchmarks.gpu.against_plain --precision tf32 the same with TF32 products, both ways
    python -m benchmarks.gpu.against_plain --small --cases 4 --plain 2      a tiny shape on a CPU: does everything run?

Ours goes through the engine that runs use: the unedited model is asked first (its time is given apart: once a model
for all methods), then every method edits and is asked in groups. The plain way edits and is asked one case at a time
(``benchmarks/support/naive_reference.py``). Both ways have the same weights, templates, statistics and precision, and
are compared.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.support import naive_reference as plain
from benchmarks.support.workload import after, facts, script_cases, search_of, templates, timed, widest
from curation.files.artifact_cache import Cache
from evaluation.covariance.covariance import KeyCovariance
from evaluation.editors.presets import make_editor
from evaluation.edits.weight_deltas import Delta
from evaluation.engines.base import Job, JobResult
from evaluation.engines.fast import FastEngine
from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.batching import TokenBudget
from evaluation.inference.passes import EditedProbes
from evaluation.models.language_model import LM
from schemas.cases import Case
from schemas.facts import Fact

PEAKS = {  # dense tera-FLOP/s of the makers' data sheets: plain float32, TF32, bfloat16
    "H100": {"float32": 67.0, "tf32": 494.7, "bfloat16": 989.4},
    "H200": {"float32": 67.0, "tf32": 494.7, "bfloat16": 989.4},
    "A100": {"float32": 19.5, "tf32": 156.0, "bfloat16": 312.0},
}
METHODS: dict[str, dict[str, Any]] = {
    "rome": {"layer": 17},
    "memit": {"layers": [13, 14, 15, 16, 17], "lam": 20000.0},
    "ft": {"layer": 0},
}
SMALL: dict[str, dict[str, Any]] = {"rome": {"layer": 2}, "memit": {"layers": [1, 2], "lam": 20.0}, "ft": {"layer": 0}}
LENGTHS = {"rome": ((5, 10), (10, 10)), "memit": ((10, 5),)}
PROJECTED = 1830  # cases of the published split


class Shape(NamedTuple):
    """What is run: cases ours and plain, precision, a tiny shape or the real one, where the tokenizer comes from."""

    cases: int = 300
    plainly: int = 16
    precision: str = "float32"
    small: bool = False
    tokenizer: str | None = None
    growth: bool = True


def model(shape: Shape) -> LM:
    """Random weights under the embedded model's tokenizer, or another's."""
    from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

    device = "cuda" if torch.cuda.is_available() else "cpu"
    tok = AutoTokenizer.from_pretrained(shape.tokenizer) if shape.tokenizer else LM.load("embedded").tokenizer
    size = {"n_embd": 64, "n_layer": 6, "n_head": 4} if shape.small else {"n_embd": 1600, "n_layer": 48, "n_head": 25}
    dtype = torch.bfloat16 if shape.precision == "bfloat16" else torch.float32
    torch.set_float32_matmul_precision("high" if shape.precision == "tf32" else "highest")
    torch.backends.cuda.enable_cudnn_sdp(False)  # as loading does
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=50257, n_positions=1024, **size)
    with torch.device(device):
        network = GPT2LMHeadModel(config)
    return LM(network.to(dtype), tok, name="gpt2-xl", revision=f"random-gpt2-xl-shaped-{shape.precision}-{shape.small}")


class Bench:
    """One model, its cases, and both ways through them."""

    def __init__(self, shape: Shape, cache: Cache) -> None:
        self.shape, self.cache, self.lm = shape, cache, model(shape)
        self.facts, self.which = facts(shape.cases)
        self.scripts = script_cases(self.lm, len(self.facts))
        self.jobs = [
            Job(str(n), Case(key=f"case/{n}", fact=fact), tuple(probes))
            for n, (fact, probes) in enumerate(zip(self.facts, self.scripts, strict=True))
        ]
        inner = self.lm.layout.inner
        self.moments = cache.folder / "identity.safetensors"
        cache.folder.mkdir(parents=True, exist_ok=True)
        KeyCovariance(torch.eye(inner), 10 * inner).save(self.moments)
        self.identity = torch.eye(inner, device=self.lm.device)
        self.cuda = self.lm.device.type == "cuda"

    def editor(self, name: str) -> Any:
        settings = dict((SMALL if self.shape.small else METHODS)[name])
        if name in LENGTHS:
            settings |= {"moments": str(self.moments), "templates": templates(self.lm, self.cache, LENGTHS[name])}
        editor = make_editor(name, self.lm, self.cache, settings)
        editor.prepare(())
        return editor

    def engine(self, editor: Any) -> tuple[FastEngine, float]:
        """An engine that has asked the unedited model, and how long that took."""
        engine = FastEngine(self.lm)
        engine.expect([editor])
        none = make_editor("none", self.lm, self.cache)
        seconds, _ = timed(lambda: list(engine.work(none, self.jobs)))
        return engine, seconds

    def theirs(self, name: str, editor: Any, fact: Fact) -> list[Delta]:
        p = editor.params
        if name == "rome":
            return [plain.rome(self.lm, p.layer, fact, p.templates, self.identity, search_of(p))[0]]
        if name == "memit":
            seconds = dict.fromkeys(p.layers, self.identity)
            return list(plain.memit(self.lm, p.layers, [fact], p.templates, seconds, p.lam, search_of(p))[0])
        return [plain.ft(self.lm, p.layer, fact, steps=p.steps, lr=p.lr, stop_below=p.stop_below)[0]]

    def slowly(self, name: str, editor: Any) -> dict[str, Any]:
        """The plain way over some cases: seconds, edits and answers."""
        some = self.facts[: self.shape.plainly]
        self.theirs(name, editor, some[0])  # kernels warm
        edit, deltas = timed(lambda: [self.theirs(name, editor, fact) for fact in some])

        def ask() -> list[Any]:
            answers_by_case = []
            for probes, change in zip(self.scripts, deltas, strict=False):
                with plain.in_force(self.lm, change):
                    answers_by_case.append(plain.evaluate(self.lm, probes))
            return answers_by_case

        score, answers = timed(ask)
        return {"edit": edit / len(some), "score": score / len(some), "deltas": deltas, "answers": answers}

    def method(self, name: str) -> dict[str, Any]:
        editor, count = self.editor(name), len(self.facts)
        engine, before = self.engine(editor)
        list(engine.work(editor, self.jobs[:2]))  # kernels warm
        if self.cuda:
            torch.cuda.reset_peak_memory_stats()
        whole, done = timed(lambda: list(engine.work(editor, self.jobs)))
        peak = torch.cuda.max_memory_allocated() if self.cuda else None
        failed = [d.error for d in done if d.error]
        flops = self.flops(engine, editor)
        slow = self.slowly(name, editor)
        ours, plainly = whole / count, slow["edit"] + slow["score"]
        return {
            "seconds_a_case_ours": round(ours, 4),
            "of_it_editing": round(sum(d.seconds_edit for d in done) / count, 4),
            "of_it_scoring": round(sum(d.seconds_score for d in done) / count, 4),
            "seconds_a_case_plain": round(plainly, 4),
            "of_it_editing_plain": round(slow["edit"], 4),
            "of_it_scoring_plain": round(slow["score"], 4),
            "ratio": round(plainly / ours, 1),
            "unedited_model_seconds_a_case (once for all methods)": round(before / count, 4),
            f"minutes for {PROJECTED} cases (a projection)": round(
                (ours * PROJECTED + before / count * PROJECTED) / 60, 1
            ),
            "failed": failed[:1],
            "peak_gib": None if peak is None else round(peak / 2**30, 1),
            "tera_flops_a_second": round(flops * count / whole / 1e12, 1),
            "share_of_peak": self.share(flops * count / whole / 1e12),
            "batch_tokens": engine.scorer.budget.tokens,
            "group": engine.group,
            **self.compared(name, editor, slow, done),
        }

    def flops(self, engine: FastEngine, editor: Any) -> float:
        """Floating-point operations a case that ours really does, counted over some cases."""
        some = self.jobs[: min(16, len(self.jobs))]
        with FlopCounterMode(display=False) as counter:
            list(engine.work(editor, some))
        return counter.get_total_flops() / len(some)

    def share(self, tera: float) -> str | None:
        if not self.cuda:
            return None
        name = torch.cuda.get_device_name()
        peak = next((v[self.shape.precision] for k, v in PEAKS.items() if k in name), None)
        return None if peak is None else f"{tera / peak:.0%} of {peak:g} tera-FLOP/s ({self.shape.precision})"

    def compared(self, name: str, editor: Any, slow: dict[str, Any], done: Sequence[JobResult]) -> dict[str, Any]:
        """Plain edits against ours at the fact prompt, and plain scoring against ours under the plain edits."""
        some = self.facts[: self.shape.plainly]
        deltas_made = [edit.deltas for edit in editor.edit_each(some)]
        a, b = after(self.lm, some, deltas_made), after(self.lm, some, slow["deltas"])
        edited = [EditedProbes(d, None, probes) for d, probes in zip(slow["deltas"], self.scripts, strict=False)]
        return {
            "largest_gap_nll_of_the_new_object": round(max(abs(p[0] - q[0]) for p, q in zip(a, b, strict=True)), 5),
            "largest_gap_log_probability_same_edit": round(
                widest(EditScorer(self.lm).score(edited), slow["answers"]), 6
            ),
            "updates_ours": sorted({int(d.notes["steps"]) for d in done if "steps" in d.notes}),
        }

    def growth(self) -> dict[str, Any]:
        """Seconds a case by rows in a pass (scoring) and by edits made together (ROME)."""
        edited = [EditedProbes((), None, probes) for probes in self.scripts[:64]]
        scoring = {
            rows: round(
                timed(lambda rows=rows: EditScorer(self.lm, budget=TokenBudget(rows * 160)).score(edited))[0]
                / len(edited),
                4,
            )
            for rows in (1, 4, 16, 64, 256)
        }
        editor, editing = self.editor("rome"), {}
        for size in (1, 4, 16, 64, 256):
            some = self.facts[: min(len(self.facts), max(size, 4))]
            groups = [some[i : i + size] for i in range(0, len(some), size)]
            editing[size] = round(timed(lambda groups=groups: [editor.edit_each(g) for g in groups])[0] / len(some), 4)
        return {"scoring_seconds_a_case_by_rows_in_a_pass": scoring, "rome_seconds_an_edit_by_edits_together": editing}


def main(shape: Shape = Shape(), methods: Sequence[str] = tuple(METHODS)) -> dict[str, Any]:  # noqa: B008 - a value
    """Run it; without a CUDA device only the tiny shape runs."""
    if not torch.cuda.is_available() and not shape.small:
        return {"what": "GPT2-XL-shaped model", "skipped": "no CUDA device"}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(shape, Cache(Path(folder)))
        out: dict[str, Any] = {
            "what": "tiny GPT-2 shape" if shape.small else "GPT2-XL-shaped model, random weights",
            "device": torch.cuda.get_device_name() if bench.cuda else "cpu",
            "precision": shape.precision,
            "facts": bench.which,
            "cases_ours": len(bench.facts),
            "cases_plain": shape.plainly,
            "prompts_a_case": len(bench.scripts[0]),
        }
        for name in methods:
            out[name] = bench.method(name)
            print(f"{name}: {json.dumps(out[name])}", file=sys.stderr, flush=True)
        if shape.growth:
            out["growth"] = bench.growth()
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", default=list(METHODS))
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--plain", type=int, default=16)
    parser.add_argument("--precision", choices=["float32", "tf32", "bfloat16"], default="float32")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--tokenizer", help="folder or hub name; the embedded model's where it is not given")
    parser.add_argument("--no-growth", action="store_true", help="leave out how time grows with batches")
    options = parser.parse_args()
    wanted = Shape(
        options.cases, options.plain, options.precision, options.small, options.tokenizer, not options.no_growth
    )
    print(json.dumps(main(wanted, options.methods), indent=1))
