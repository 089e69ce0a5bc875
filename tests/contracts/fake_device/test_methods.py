"""Every method does nothing that a CUDA device refuses, whatever the layout and type, on one device and on two."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from accelerate import dispatch_model

from curation.files.artifact_cache import Cache
from curation.splits.split_file import write_split
from evaluation.checks import model_compatibility
from evaluation.covariance.covariance import Corpus, cached_covariance, key_covariances
from evaluation.editors import EDITORS
from evaluation.editors.locate_edit.stabilised import CarriedState
from evaluation.editors.presets import make_editor
from evaluation.edits.edit import CarryingEdit
from evaluation.edits.routed_deltas import RoutedDelta
from evaluation.edits.weight_deltas import Delta, LowRankDelta
from evaluation.engines.base import Job
from evaluation.engines.fast import FastEngine
from evaluation.engines.peak_memory import PeakMemory
from evaluation.inference.answering import write
from evaluation.inference.scoring import score
from evaluation.models.language_model import LM
from evaluation.runs.config import RunConfig
from evaluation.runs.runner import execute
from schemas.answers import Answer
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.probes import GenerateProbe
from tests.contracts import test_editors
from tests.contracts.test_editors import editor, requests_of, support_of
from tests.support.arithmetic import make_cases
from tests.support.fake_device import fake_gpu
from tests.support.tiny import make, shuffled

FACTS, PROBES = test_editors.FACTS[:2], test_editors.PROBES[:2]
FLOAT32_ONLY = {"ft_lm", "side", "unke"}  # train the weights themselves: narrow ones would round the changes away
TEXTS = [
    GenerateProbe(purpose="text", item=f.key, prompt=f.fact_prompt, most=3, seed=1, temperature=t, top_p=0.9)
    for f, t in zip(FACTS, (0.0, 0.8), strict=True)
]
LAYOUTS = ("llama", "gpt2")
TYPES = (torch.float32, torch.bfloat16)
ON_ONE = [(method, LAYOUTS[n % 2], TYPES[n // 2 % 2]) for n, method in enumerate(EDITORS.names())]
ON_TWO = ("ft", "lora", "memit", "mend", "boost")


def on_card(kind: str, dtype: torch.dtype = torch.float32) -> LM:
    """A tiny model with room for demonstrations, moved to the fake device."""
    lm = make(kind, dtype=dtype, **{"n_positions" if kind == "gpt2" else "max_position_embeddings": 1024})
    lm.model.to("cuda")
    return lm


def exercise(method: str, lm: LM, folder: Path) -> tuple[list[Any], list[Answer]]:
    """Changes and answers of everything that an engine or a regime asks of a method.

    Raises:
        Refused: something was done that the device refuses.
    """
    folder.mkdir(exist_ok=True)
    instance = editor(method, lm, folder, steps=2)
    instance.prepare(support_of(method))
    requests = requests_of(method)[:2]
    deltas = [delta for edit in instance.edit_each(requests) for delta in edit.deltas or ()]
    assert all(x.dtype == torch.float32 for delta in deltas for x in parts_of(delta))
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
    assert [a.error for a in answers] == [None] * len(answers)
    instance.edit_after(requests[:1], [one])
    changes = [parts_of(d) if isinstance(d, RoutedDelta) else (d.matrix(),) for d in deltas]
    return [tensor.tolist() for tensors in changes for tensor in tensors], answers


def parts_of(delta: Delta) -> tuple[torch.Tensor, ...]:
    """The tensors that a change is made of."""
    if isinstance(delta, RoutedDelta):
        return delta.tensors
    return (delta.left, delta.right) if isinstance(delta, LowRankDelta) else (delta.value,)


def cases_of(method: str) -> list[Any]:
    """Two cases of edits that a method takes; an engine is handed statements by the simplification around a method."""
    if "fact" in EDITORS.get(method).takes:
        return [Case(key=f"c{n}", fact=fact) for n, fact in enumerate(FACTS)]
    return [SimpleNamespace(key=f"c{n}", request=one) for n, one in enumerate(requests_of(method)[:2])]


@pytest.mark.parametrize(("method", "kind", "dtype"), ON_ONE)
def test_nothing_is_refused(method: str, kind: str, dtype: torch.dtype, tmp_path: Path) -> None:
    with fake_gpu() as machine:
        exercise(method, on_card(kind, torch.float32 if method in FLOAT32_ONLY else dtype), tmp_path)
    assert not machine.counts.refused, dict(machine.counts.refused)  # none was swallowed on its way either


@pytest.mark.parametrize(
    ("method", "kind", "dtype", "said"),
    [
        *[(method, "llama", torch.bfloat16, "rounded away") for method in sorted(FLOAT32_ONLY)],
        *[(method, "gemma2", torch.float32, "a norm follows the MLP") for method in ("memit", "anyedit")],
    ],
)
def test_what_a_method_refuses(method: str, kind: str, dtype: torch.dtype, said: str, tmp_path: Path) -> None:
    with fake_gpu(), pytest.raises(UserError, match=said):
        exercise(method, on_card(kind, dtype), tmp_path)


def test_changes_that_lie_elsewhere_are_stabilised_on_the_card(tmp_path: Path) -> None:
    """As those read from a file, which lie in the memory of the host."""
    draw = torch.Generator().manual_seed(2)
    with fake_gpu() as machine:
        lm = on_card("llama")
        instance = editor("memit", lm, tmp_path, steps=2, stabilise=["sphere", "prune"], layers=[1])
        weight = lm.layout.weight(1)
        read = LowRankDelta(weight, 99 * torch.randn(32, 2, generator=draw), torch.randn(48, 2, generator=draw))
        before = CarryingEdit((read,), {}, CarriedState({weight: read}))
        with before.on(lm):
            edit: Any = instance.edit_after(requests_of("memit")[:1], [before])
    assert not machine.counts.refused and list(edit.carried.damping) == [weight], "large enough to be damped"
    added = edit.carried.total[weight].matrix() - read.matrix()
    assert 0 < added.norm() < 0.1 * read.matrix().norm(), "what was read and one edit"


# A model spread over two devices: every method does the same as on one.


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


@pytest.mark.parametrize("method", ON_TWO)
def test_the_same_as_on_one_device(method: str, tmp_path: Path) -> None:
    with fake_gpu():
        want = exercise(method, on_card("llama"), tmp_path / "one")
    with fake_gpu(devices=2) as machine:
        lm = spread(make("llama", max_position_embeddings=1024))
        assert len(lm.devices) == 2
        result = exercise(method, lm, tmp_path / "two")
    assert not machine.counts.refused, dict(machine.counts.refused)
    for parameter, reference in zip(result[0], want[0], strict=True):
        assert torch.allclose(torch.tensor(parameter), torch.tensor(reference), atol=1e-6)
    assert result[1] == want[1]


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


# Whole runs: every regime, with texts; second moments; the doctor.

REGIMES: list[Any] = ["single", {"name": "batch", "size": 2}, {"name": "sequential", "size": [1, 2], "score": "both"}]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("\n\n".join(shuffled(4)), encoding="utf-8")
    return path


@pytest.mark.parametrize("regime", REGIMES, ids=str)
def test_every_regime_with_texts(regime: Any, tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    write_split(make_cases(2, 1), tmp_path / "split.jsonl")
    memit = {"steps": 2, "templates": ["{}"], "corpus": str(corpus), "layers": [0, 1]}
    config = RunConfig.model_validate(
        {
            "split": {"file": str(tmp_path / "split.jsonl")},
            "model": "tiny",
            "device": "auto",
            "regime": regime,
            "editors": ["none", {"name": "ft", "params": {"steps": 2}}, {"name": "memit", "params": memit}],
            "metrics": ["es", "s_es", "collapse", "s_es_gen", "s_es_gen_question"],
            "generation": {"max_tokens": 3, "step_tokens": 3},
            "out": str(tmp_path / "run"),
        }
    )
    with fake_gpu() as machine:
        outcomes = execute(config, lm=on_card("gpt2"))
    assert not machine.counts.refused and not any(o.failed for o in outcomes)
    assert [o.label for o in outcomes] == ["none", "ft", "memit"] and all(o.computed for o in outcomes)


@pytest.mark.parametrize("dtype", TYPES)
def test_second_moments(dtype: torch.dtype, corpus: Path, tmp_path: Path) -> None:
    texts, cache = Corpus([corpus]), Cache(tmp_path / "cache")
    with fake_gpu() as machine:
        lm = on_card("llama", dtype)
        covariances = key_covariances(lm, [0, 1], texts, cache=cache)
        assert cached_covariance(lm, 1, texts, cache=cache) is not None and covariances
    assert not machine.counts.refused


@pytest.mark.parametrize("kind", LAYOUTS)
def test_the_doctor(kind: str) -> None:
    with fake_gpu() as machine:
        notes = model_compatibility.examine(on_card(kind))
    assert not machine.counts.refused and notes
