"""What the evaluation benchmarks share: facts and script prompts to work on, a clock, and the comparison of answers.

Facts are CounterFact's where the shared data lie (SCEDIT_SHARED or ../shared), else the shipped ones.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from curation.files.artifact_cache import Cache
from curation.shipped import mini_split
from evaluation.editors.locate_edit.value_search import SearchSettings
from evaluation.edits.weight_deltas import Delta
from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.passes import EditedProbes
from evaluation.models.language_model import LM
from schemas.answers import Answer
from schemas.facts import Entity, Fact, Object, Relation, Source
from schemas.probes import ScoreProbe


def shared() -> Path | None:
    named = os.environ.get("SCEDIT_SHARED")
    folder = Path(named) if named else Path(__file__).resolve().parents[3] / "shared"
    return folder if (folder / "data").is_dir() else None


def facts(count: int) -> tuple[list[Fact], str]:
    folder = shared()
    path = folder / "data" / "counterfact" / "counterfact_grouped.json" if folder else None
    if path is None or not path.is_file():
        wanted = [c.fact for c in mini_split().cases if c.fact.new][:count]
        return wanted, f"{len(wanted)} shipped facts (CounterFact is not here)"
    out = []
    for row in json.loads(path.read_text())[:: max(1, 1800 // count)][:count]:
        edit = row["requested_rewrite"]
        out.append(
            Fact(
                key=f"cf/{row['case_id']}",
                subject=Entity(text=edit["subject"]),
                relation=Relation(id=edit["relation_id"]),
                prompt=edit["prompt"],
                old=Object(text=edit["target_true"]["str"]),
                new=Object(text=edit["target_new"]["str"]),
                source=Source(name="counterfact", licence="MIT"),
            )
        )
    return out, f"{count} CounterFact edits, evenly from the grouped file"


def templates(lm: LM, cache: Cache, lengths: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    from evaluation.editors.locate_edit.context_templates import sample_templates

    return sample_templates(lm, lengths, cache=cache)


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    start = time.perf_counter()
    result = run()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start, result


def probes(fact: Fact) -> list[ScoreProbe]:
    return [
        ScoreProbe(
            purpose="fact", item=fact.key, prompt=fact.fact_prompt, targets=(fact.new_object.text, fact.old.text)
        )
    ]


def after(lm: LM, wanted: Sequence[Fact], edits: Sequence[Sequence[Delta]]) -> list[tuple[float, float]]:
    """Mean NLL a token of new and old object at the fact prompt under every edit."""
    answers = EditScorer(lm).score([EditedProbes(d, None, probes(f)) for f, d in zip(wanted, edits, strict=True)])
    return [(-a[0].targets[0].value("mean"), -a[0].targets[1].value("mean")) for a in answers]


def search_of(params: Any) -> SearchSettings:
    names = ("steps", "lr", "kl_weight", "weight_decay", "clamp", "stop_below")
    return SearchSettings(**{name: getattr(params, name) for name in names})


def script_cases(lm: LM, count: int, *, scripts: int = 4, near: int = 8) -> list[list[ScoreProbe]]:
    """Script prompts of 100 to 150 tokens: a script of ``mini`` after other whole ones, as in worked examples."""
    texts, targets = [], []
    for case in mini_split().cases:
        for prompt in [*case.prompts, *[p for n in case.neighbours for p in n.prompts]]:
            texts.append(prompt.text)
            targets.append((case.fact.new_object.text if case.fact.new else "Rome", case.fact.old.text))
    sizes = [len(lm.tokenizer(t)["input_ids"]) for t in texts]
    script_probes: list[ScoreProbe] = []
    for i, (text, pair) in enumerate(zip(texts, targets, strict=True)):
        joint, size, j = text, sizes[i], i
        while size < 98:
            j = (j + 13) % len(texts)
            joint, size = f"{texts[j]} {targets[j][1]}\n\n{joint}", size + sizes[j]
        if size <= 148:
            script_probes.append(ScoreProbe(purpose="script", item=f"{i}", prompt=joint, targets=pair))
    need = count * (scripts + near)
    if len(script_probes) < need:
        script_probes = [script_probes[i % len(script_probes)] for i in range(need)]
    return [script_probes[i * (scripts + near) : (i + 1) * (scripts + near)] for i in range(count)]


def widest(ours: Sequence[Sequence[Answer]], theirs: Sequence[Sequence[Answer]]) -> float:
    return max(
        abs(s.logprob - t.logprob)
        for a, b in zip(ours, theirs, strict=True)
        for x, y in zip(a, b, strict=True)
        for s, t in zip(x.targets, y.targets, strict=True)
    )
