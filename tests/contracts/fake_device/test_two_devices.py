"""A model spread over two devices: every method does the same as on one, and nothing is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import dispatch_model

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.edits.routed_deltas import RoutedDelta
from evaluation.engines.base import Job
from evaluation.engines.fast import FastEngine
from evaluation.engines.peak_memory import PeakMemory
from evaluation.inference.answering import write
from evaluation.inference.scoring import score
from evaluation.models.language_model import LM
from schemas.answers import Answer
from tests.contracts.fake_device.exercise import PROBES, TEXTS, cases_of, parts_of
from tests.contracts.test_editors import editor, requests_of, support_of
from tests.support.fake_device import fake_gpu
from tests.support.tiny import make

QUICK = ("ft", "lora", "memit", "mend", "boost")


def spread(lm: LM) -> LM:
    """Its first block on the first device, what follows on the second; a tied head lies with the embedding."""
    blocks, base = lm.layout.blocks, lm.layout.base
    is_tied = lm.model.get_output_embeddings().weight is lm.model.get_input_embeddings().weight
    top = {name: 0 if is_tied else 1 for name, _ in lm.model.named_children() if name != base}
    counts = {f"{base}.{name}": 0 for name, _ in lm.module(base).named_children() if f"{base}.{name}" != blocks}
    for name in counts:
        counts[name] = 1 if "norm" in name or "ln_f" in name else 0
    each = {f"{blocks}.{n}": min(n, 1) for n in range(lm.layout.depth)}
    model = dispatch_model(lm.model, device_map={**top, **counts, **each}, main_device=0)
    return LM(model, lm.tokenizer, name=lm.name, revision=lm.revision, layout=lm.layout)


def work(method: str, lm: LM, folder: Path) -> tuple[list[Any], list[Answer]]:
    """Changes and answers of everything that is asked of a method."""
    instance = editor(method, lm, folder, steps=2)
    instance.prepare(support_of(method))
    requests = requests_of(method)[:2]
    edits = instance.edit_each(requests)
    one = instance.edit(requests)
    with one.on(lm):
        answers = [*score(lm, PROBES, rewrite=one.rewrite), *write(lm, TEXTS, rewrite=one.rewrite)]
    jobs = [Job(str(n), case, (*PROBES, *TEXTS)) for n, case in enumerate(cases_of(method))]
    engine = FastEngine(lm)
    engine.expect([instance])
    for candidate in (make_editor("none", lm, Cache(folder)), instance):
        results = list(engine.work(candidate, jobs))
        assert [d.error for d in results] == [None] * len(jobs)
        answers += [a for d in results for a in d.answers]
    instance.edit_after(requests[:1], [one])
    deltas = [delta for edit in edits for delta in edit.deltas or ()]
    changes = [parts_of(d) if isinstance(d, RoutedDelta) else (d.matrix(),) for d in deltas]
    return [tensor.tolist() for tensors in changes for tensor in tensors], answers


def check(method: str, kind: str, dtype: torch.dtype, folder: Path) -> None:
    length = {"n_positions" if kind == "gpt2" else "max_position_embeddings": 1024}
    (folder / "one").mkdir()
    (folder / "two").mkdir()
    with fake_gpu() as machine:
        lm = make(kind, dtype=dtype, **length)
        lm.model.to("cuda")
        want = work(method, lm, folder / "one")
    with fake_gpu(devices=2) as machine:
        lm = spread(make(kind, dtype=dtype, **length))
        assert len(lm.devices) == 2
        result = work(method, lm, folder / "two")
    assert not machine.counts.refused, dict(machine.counts.refused)
    for parameter, reference in zip(result[0], want[0], strict=True):
        assert torch.allclose(torch.tensor(parameter), torch.tensor(reference), atol=1e-6)
    assert result[1] == want[1]


@pytest.mark.parametrize("method", QUICK)
def test_the_same_as_on_one_device(method: str, tmp_path: Path) -> None:
    check(method, "llama", torch.float32, tmp_path)


@pytest.mark.parametrize(
    ("device", "count", "lies"),
    [("auto", 1, ["cuda:0"]), ("cuda:1", 2, ["cuda:1"]), ("map", 2, ["cuda:0", "cuda:1"])],
)
def test_loaded_from_a_folder(
    device: str, count: int, lies: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_DEACTIVATE_ASYNC_LOAD", "1")  # the fake device is seen by one thread
    lm = make("llama")
    lm.model.save_pretrained(tmp_path)
    lm.tokenizer.save_pretrained(tmp_path)
    want = score(lm, PROBES)
    with fake_gpu(devices=count) as machine:
        model = LM.load(str(tmp_path), device=device)
        assert [str(d) for d in model.devices] == lies
        assert score(model, PROBES) == want and not machine.counts.refused
        peaks = [one.peak for one in machine.memory.devices]
        memory = PeakMemory(*lies)
        assert memory.read() <= sum(peaks) and memory.read() >= sum(one.live for one in machine.memory.devices)
