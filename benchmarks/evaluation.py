"""Editing and scoring against the plain way (``benchmarks/support/naive_reference.py``), side by side in one run, same
results required.

    python benchmarks/run.py evaluation                  all sections, into results/evaluation.json; about 12 minutes
    python benchmarks/evaluation.py rome ft --plain 24   some sections; the plain way on all 24 edits instead of 4

Meant for two quiet cores. The plain way is slow, so by default it makes 4 of the 24 edits (12 with FT); the ratio
compares seconds per edit over those very edits, and ours are also timed over all 24. Facts are CounterFact's where the
shared data lie (SCEDIT_SHARED or ../shared), else the shipped ones; the result says which. ``workers`` needs Ray,
``gpu`` a CUDA device.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch

from benchmarks.support import naive_reference as plain
from benchmarks.support.workload import after, facts, script_cases, search_of, templates, timed, widest
from curation.files.artifact_cache import Cache
from curation.files.model_packages import cache_dir
from evaluation.editors.presets import make_editor
from evaluation.edits.weight_deltas import Delta
from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.batching import TokenBudget
from evaluation.inference.request import EditedProbes
from evaluation.models.language_model import LM
from schemas.answers import Answer
from schemas.facts import Fact

EDITS = 24
SECTIONS = ("rome", "memit", "ft", "evaluate", "growth", "workers", "gpu")
WITHIN = 0.02  # NLL a token after editing; float arithmetic in another order is amplified by the search


def compared(
    lm: LM,
    wanted: list[Fact],
    count: int,
    ours: Callable[[Sequence[Fact]], list[Any]],
    theirs: Callable[[Fact], tuple[Sequence[Delta], int]],
) -> dict[str, Any]:
    """Both ways over the same edits, checked against each other; ours also over all."""
    some = wanted[:count]
    ours(some[:1])  # statistics and templates are ready, kernels warm
    fast, edits_made = timed(lambda: ours(some))
    rest, _ = timed(lambda: ours(wanted[len(some) :]))
    slow, plain_edits = timed(lambda: [theirs(fact) for fact in some])
    a = after(lm, some, [edit.deltas for edit in edits_made])
    b = after(lm, some, [deltas for deltas, _ in plain_edits])
    gaps = [max(abs(x - y) for x, y in zip(p, q, strict=True)) for p, q in zip(a, b, strict=True)]
    differing = [f.key for f, p, q in zip(some, a, b, strict=True) if (p[0] < p[1]) != (q[0] < q[1])]
    new = [abs(p[0] - q[0]) for p, q in zip(a, b, strict=True)]
    return {
        "edits_compared": len(some),
        "seconds_an_edit_plain": round(slow / len(some), 3),
        "seconds_an_edit_ours": round(fast / len(some), 3),
        "ratio": round(slow / fast, 2),
        "edits_ours": len(wanted),
        "seconds_an_edit_ours_all": round((fast + rest) / len(wanted), 3),
        "updates_plain": [steps for _, steps in plain_edits],
        "updates_ours": [edit.notes["steps"] for edit in edits_made],
        "largest_gap_nll_of_the_new_object": float(f"{max(new):.2g}"),
        "largest_gap_nll_of_either_object": float(f"{max(gaps):.2g}"),
        "gaps_above_0.02": {f.key: round(g, 4) for f, g in zip(some, gaps, strict=True) if g > WITHIN},
        "differing_decisions": differing,
    }


def rome(lm: LM, cache: Cache, *, count: int, edits: int = EDITS) -> dict[str, Any]:
    wanted, which = facts(edits)
    texts = templates(lm, cache, ((5, 10), (10, 10)))
    editor = make_editor("rome", lm, cache, {"templates": texts})
    editor.prepare(())
    second = editor._material()[1].second.to(lm.device)  # type: ignore[attr-defined]
    inverse = torch.linalg.inv(second.double()).float()
    p = editor.params
    result = compared(
        lm,
        wanted,
        count,
        editor.edit_each,
        lambda fact: _listed(plain.rome(lm, p.layer, fact, texts, inverse, search_of(p))),
    )
    return {"what": f"ROME, {len(texts)} templates, layer {p.layer}", "facts": which, **result}


def _listed(edit: tuple[Delta, int]) -> tuple[list[Delta], int]:
    return [edit[0]], edit[1]


def memit(lm: LM, cache: Cache, *, count: int, edits: int = EDITS) -> dict[str, Any]:
    wanted, which = facts(edits)
    editor = make_editor("memit", lm, cache, {"lam": 100.0})
    editor.prepare(())
    texts, moments = editor._material()  # type: ignore[attr-defined]
    seconds = {n: m.second.to(lm.device) for n, m in moments.items()}
    p = editor.params
    result = compared(
        lm,
        wanted,
        count,
        editor.edit_each,
        lambda fact: plain.memit(lm, p.layers, [fact], texts, seconds, p.lam, search_of(p)),
    )
    return {"what": f"MEMIT, {len(texts)} templates, layers {list(p.layers)}, λ 100", "facts": which, **result}


def ft(lm: LM, cache: Cache, *, count: int, edits: int = EDITS) -> dict[str, Any]:
    wanted, which = facts(edits)
    editor = make_editor("ft", lm, cache)
    p = editor.params

    def theirs(fact: Fact) -> tuple[list[Delta], int]:
        return _listed(plain.ft(lm, p.layer, fact, steps=p.steps, lr=p.lr, stop_below=p.stop_below))

    result = compared(lm, wanted, max(count, min(edits, 12)), editor.edit_each, theirs)
    return {"what": f"FT, layer {p.layer}", "facts": which, **result}


def evaluate(lm: LM, cache: Cache, *, count: int, edits: int = EDITS) -> dict[str, Any]:
    """Script prompts under rank-one edits, and before any; the plain way is timed before and after, as it runs."""
    cases = script_cases(lm, min(edits, 8))
    generator = torch.Generator().manual_seed(0)
    layer, layout = make_editor("rome", lm, cache).params.layer, lm.layout
    scale = float(lm.projection(layer).weight.norm()) * 0.05
    changes: list[list[Delta]] = []
    for _ in cases:
        left, right = (
            torch.randn(layout.width, 1, generator=generator),
            torch.randn(layout.inner, 1, generator=generator),
        )
        left, right = left / left.norm() * scale, right / right.norm()
        changes.append([plain.LowRankDelta(layout.weight(layer), left.to(lm.device), right.to(lm.device))])
    some = cases[: min(len(cases), max(2, count // 2))]

    def theirs() -> list[list[Answer]]:
        out = []
        for probes, deltas in zip(some, changes, strict=False):
            with plain.in_force(lm, deltas):
                out.append(plain.evaluate(lm, probes))
        return out

    scorer = EditScorer(lm, budget=TokenBudget(4096), layers=[layer])
    scorer.score([EditedProbes((), None, cases[0][:2])])
    before, first = timed(lambda: scorer.score([EditedProbes((), None, probes) for probes in cases]))
    fast, answers = timed(
        lambda: scorer.score([EditedProbes(d, None, probes) for d, probes in zip(changes, cases, strict=True)])
    )
    plain_before, unedited = timed(lambda: [plain.evaluate(lm, probes) for probes in some])
    slow, plain_answers = timed(theirs)
    gap = max(widest(answers[: len(some)], plain_answers), widest(first[: len(some)], unedited))
    if gap > 1e-3:
        raise AssertionError(f"the two ways differ by {gap} nats")
    lengths = [len(lm.tokenizer(p.prompt)["input_ids"]) for probes in cases for p in probes]
    return {
        "what": "scoring of script prompts, 4 + 8 a case, two targets each, a rank-one edit a case",
        "prompt_tokens": [min(lengths), max(lengths)],
        "cases_ours": len(cases),
        "cases_plain": len(some),
        "seconds_a_case_plain": round(slow / len(some), 3),
        "seconds_a_case_ours": round(fast / len(cases), 3),
        "ratio": round(slow / len(some) / (fast / len(cases)), 2),
        "before_editing": {
            "seconds_a_case_plain": round(plain_before / len(some), 3),
            "seconds_a_case_ours": round(before / len(cases), 3),
            "ratio": round(plain_before / len(some) / (before / len(cases)), 2),
        },
        "largest_difference_nats": gap,
    }


def growth(lm: LM, cache: Cache, *, count: int, edits: int = EDITS) -> dict[str, Any]:
    """Seconds an edit and a case as their number grows, and as the batch does."""
    wanted, _ = facts(16)
    editor = make_editor("ft", lm, cache)
    cases = script_cases(lm, 4)
    by_edits = {n: round(timed(lambda n=n: editor.edit_each(wanted[:n]))[0] / n, 3) for n in (1, 2, 4, 8, 16)}
    edited = [EditedProbes((), None, probes) for probes in cases]
    by_batch = {
        tokens: round(timed(lambda tokens=tokens: EditScorer(lm, budget=TokenBudget(tokens)).score(edited))[0] / 4, 3)
        for tokens in (128, 512, 2048, 8192)
    }
    by_cases = {n: round(timed(lambda n=n: EditScorer(lm).score(edited[:n]))[0] / n, 3) for n in (1, 2, 4)}
    return {
        "what": "growth",
        "ft_seconds_an_edit_by_edits_together": by_edits,
        "scoring_seconds_a_case_by_tokens_in_a_pass": by_batch,
        "scoring_seconds_a_case_by_cases": by_cases,
    }


def workers(lm: LM, cache: Cache, *, count: int, edits: int = EDITS) -> dict[str, Any]:
    """FT edits and their script prompts by Ray with one and with two workers of one thread each; starting aside."""
    try:
        import ray
    except ImportError:
        return {"what": "Ray workers", "skipped": "Ray is not installed"}
    from evaluation.engines.base import Job
    from evaluation.runs.config import RunConfig
    from evaluation.runs.distributed.ray_engine import RayEngine
    from evaluation.runs.support import Support
    from schemas.cases import Case

    wanted, _ = facts(8)
    scripts = script_cases(lm, len(wanted))
    jobs = [
        Job(str(n), Case(key=f"case/{n}", fact=fact), tuple(probes))
        for n, (fact, probes) in enumerate(zip(wanted, scripts, strict=True))
    ]
    editor, seconds = make_editor("ft", lm, cache), {}
    for number in (1, 2):
        with tempfile.TemporaryDirectory() as out:
            data = {"split": "mini", "editors": ["ft"], "out": out, "workers": number, "group": 2, "device": "cpu"}
            with RayEngine(RunConfig.model_validate(data), support=Support(), lm=lm) as engine:
                ray.get([actor.identity.remote() for actor in engine._workers(number)])
                spent, done = timed(lambda engine=engine: list(engine.work(editor, jobs)))
        assert len(done) == len(jobs) and not any(d.error for d in done)
        seconds[number] = round(spent / len(jobs), 3)
    return {"what": "Ray: FT edits with 12 script prompts each", "seconds_a_case_by_workers": seconds}


def gpu(_: LM, cache: Cache, *, count: int, edits: int = EDITS) -> dict[str, Any]:
    """A GPT2-XL-shaped model on a GPU, where there is one: ``benchmarks/gpu/against_plain.py``."""
    from benchmarks.gpu.against_plain import main as large

    return large()


def main(sections: Sequence[str] = SECTIONS, *, count: int = 4, edits: int = EDITS) -> dict[str, Any]:
    """Run sections; raises where the two ways of scoring differ by more than 1e-3 nats."""
    lm = LM.load("embedded", device="cpu")
    out: dict[str, Any] = {
        "model": "SmolLM2-135M-Instruct (embedded), float32, cpu",
        "threads": torch.get_num_threads(),
    }
    for name in sections:
        out[name] = globals()[name](lm, Cache(cache_dir()), count=count, edits=edits)
        print(f"{name}: {json.dumps(out[name], ensure_ascii=False)}", file=sys.stderr, flush=True)
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", default=list(SECTIONS), help=f"of {', '.join(SECTIONS)}")
    parser.add_argument("--plain", type=int, default=4, help="edits that the plain way makes")
    parser.add_argument("--edits", type=int, default=EDITS)
    options = parser.parse_args()
    print(json.dumps(main(options.sections, count=options.plain, edits=options.edits), indent=1, ensure_ascii=False))
