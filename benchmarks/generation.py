"""Scripts written per second: many edits in one batch, each in its own row, against one edit at a time; the same text.

Run: python benchmarks/run.py generation, or python -m benchmarks.generation EDITS TOKENS

Edits are random rank-one changes of one MLP projection, as large as ROME's; each writes the script of one question of
``mini``. ``plain`` is transformers' ``generate`` with the weights changed and put back.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluation.edits.weight_deltas import LowRankDelta
    from evaluation.inference.passes import EditedProbes
    from evaluation.models.language_model import LM

EDITS, TOKENS, LAYER = 4, 24, 5
SIZE = 0.05
"""Norm of a change over the norm of its weight."""


def main(edits: int = EDITS, tokens: int = TOKENS) -> dict[str, Any]:
    """Seconds and scripts per second of three ways over the same work."""
    from evaluation.inference.answering import write, write_each
    from evaluation.models.language_model import LM

    lm = LM.load("embedded", device="cpu")
    work = _work(lm, edits, tokens)
    rows: dict[str, dict[str, float]] = {}

    def one_by_one() -> list[str]:
        out = []
        for one in work:
            with _on(lm, one):
                out += [a.written.text for a in write(lm, list(one.probes)) if a.written]  # type: ignore[arg-type]
        return out

    def together() -> list[str]:
        return [a.written.text for answers in write_each(lm, work) for a in answers if a.written]

    together()  # the first pass of a process is slower
    texts = {}
    for name, way in (("plain", lambda: _plainly(lm, work)), ("one_by_one", one_by_one), ("per_row", together)):
        texts[name], rows[name] = _timed(way)
    same = {
        name: sum(a == b for a, b in zip(texts[name], texts["per_row"], strict=True))
        for name in ("plain", "one_by_one")
    }
    return {
        "what": f"{edits} edits, a script of at most {tokens} tokens each, SmolLM2-135M-Instruct in float32 on a CPU",
        **rows,
        "same_text_as_per_row": same,
        "per_row_against_one_by_one": round(rows["one_by_one"]["cpu_s"] / rows["per_row"]["cpu_s"], 2),
        "per_row_against_plain": round(rows["plain"]["cpu_s"] / rows["per_row"]["cpu_s"], 2),
        "notes": "seconds of the processor, which other work on the machine does not lengthen much; wall_s beside it",
    }


def _timed(way: Callable[[], list[str]]) -> tuple[list[str], dict[str, float]]:
    wall, cpu = time.perf_counter(), time.process_time()
    texts = way()
    spent, cpu = time.perf_counter() - wall, time.process_time() - cpu
    rate = len(texts) / cpu
    return texts, {"cpu_s": round(cpu, 2), "wall_s": round(spent, 2), "scripts_per_cpu_s": round(rate, 3)}


def _work(lm: LM, edits: int, tokens: int) -> list[EditedProbes]:
    from curation.shipped import mini_split
    from evaluation.inference.passes import EditedProbes
    from evaluation.metrics.generation import Generation, GenerationChoice
    from evaluation.metrics.text_level import scripts_for

    generation = Generation(GenerationChoice(max_tokens=tokens))
    cases = mini_split().cases[:edits]
    return [EditedProbes([_edit(lm, n)], None, scripts_for(case, generation)[:1]) for n, case in enumerate(cases)]


def _edit(lm: LM, number: int) -> LowRankDelta:
    import torch

    from evaluation.edits.weight_deltas import LowRankDelta

    generator = torch.Generator().manual_seed(number)
    weight = lm.projection(LAYER).weight
    left = torch.randn(lm.layout.width, 1, generator=generator)
    right = torch.randn(lm.layout.inner, 1, generator=generator)
    size = SIZE * float(weight.norm()) / float(left.norm() * right.norm())
    return LowRankDelta(lm.layout.weight(LAYER), size * left, right)


def _on(lm: LM, one: EditedProbes) -> Any:
    from evaluation.edits.weight_deltas import applied

    return applied(lm.model, one.deltas)


def _plainly(lm: LM, work: Sequence[EditedProbes]) -> list[str]:
    import torch

    from evaluation.inference.answering import model_input, written_probes

    out = []
    for one in work:
        (probe,) = written_probes(one.probes)
        ready = model_input(lm, probe)
        inputs = lm.tokenizer(ready.text, return_tensors="pt", add_special_tokens=not ready.chat)
        with _on(lm, one), torch.no_grad():
            ids = lm.model.generate(**inputs, max_new_tokens=probe.most, do_sample=False)
        out.append(lm.tokenizer.decode(ids[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True))
    return out


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:])), indent=1))
