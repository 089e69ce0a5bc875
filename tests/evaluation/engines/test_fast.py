"""Engines: the fast one equals the reference, whatever the method, the model, the memory."""

from __future__ import annotations

import itertools
import json
import mmap
import platform
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from curation.files.artifact_cache import Cache
from curation.splits.split_file import Split, make_split
from evaluation.editors.base import Editor
from evaluation.editors.presets import make_editor
from evaluation.edits.edit import Edit
from evaluation.engines import environment as module
from evaluation.engines import fast as fast_engine
from evaluation.engines import peak_memory
from evaluation.engines import simple as simple_engine
from evaluation.engines.base import REWRITTEN, Job, plain, prompt_as_read, rewritten, with_earlier
from evaluation.engines.environment import environment
from evaluation.engines.fast import FastEngine
from evaluation.engines.peak_memory import PeakMemory
from evaluation.engines.simple import SimpleEngine
from evaluation.inference.answering import ModelScorer
from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.batching import TokenBudget
from evaluation.metrics import METRICS
from evaluation.models.language_model import LM
from evaluation.runs.config import RunConfig
from evaluation.runs.runner import EditorOutcome
from schemas.facts import Fact
from schemas.probes import GenerateProbe, ScoreProbe
from tests.support.arithmetic import ArithmeticLM, make_case, make_cases
from tests.support.evaluation.runner_of import runner_of
from tests.support.evaluation.tiny_runs import run_tiny
from tests.support.tiny import make

LANDS = ("Peru", "Norway", "France", "Madrid", "Quito")


OPTIONS: dict[str, dict[str, Any]] = {
    "none": {},
    "prompt": {},
    "ft": {"layer": 1, "steps": 4},
    "ft_l": {"layer": [1, 2], "steps": 3, "eps": 1e-3, "lr": 1e-3},
    "rome": {"layer": 1, "steps": 4, "covariance": False, "templates": ["{}", "Peru is big. {}"]},
}


def split() -> Split:
    return make_split("tiny", [make_case(land, old="Lima", new="São Tomé") for land in LANDS])


def run(
    lm: LM, out: Path, *, engine: Any = None, names: Sequence[str] = tuple(OPTIONS), **more: Any
) -> dict[str, EditorOutcome]:
    editors = [{"name": name, "params": OPTIONS[name]} for name in names]
    config = RunConfig.model_validate({"split": "mini", "editors": editors, "out": str(out), **more})
    outcomes = run_tiny(config, split(), lm, engine=engine or SimpleEngine(ModelScorer(lm)))
    return {outcome.label: outcome for outcome in outcomes}


def same(a: EditorOutcome, b: EditorOutcome, *, within: float = 1e-4) -> None:
    units, right = a.folder.units(), b.folder.units()
    assert units.keys() == right.keys() and units
    for key, result in units.items():
        other = right[key]
        assert result.error == other.error
        for x, y in zip(result.answers, other.answers, strict=True):
            assert (x.probe, x.error, x.truncated, x.written) == (y.probe, y.error, y.truncated, y.written)
            for s, t in zip(x.targets, y.targets, strict=True):
                assert (s.text, s.tokens) == (t.text, t.tokens)
                assert s.logprob == pytest.approx(t.logprob, abs=within)


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_fast_equals_simple(kind: str, tmp_path: Path) -> None:
    lm = make(kind)
    digest = lm.weights_digest()
    slow = run(lm, tmp_path / "slow")
    fast = run(lm, tmp_path / "fast", engine=FastEngine(lm, scorer=EditScorer(lm, budget=TokenBudget(300)), group=2))
    for label in OPTIONS:
        assert fast[label].computed == len(LANDS) and fast[label].manifest == slow[label].manifest
        same(slow[label], fast[label], within=5e-4)  # the edits themselves are searched for in other batches
    assert lm.weights_digest() == digest
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in lm.model.modules())


class Moody(Editor):
    """A method that some cases make fail, at editing or at scoring."""

    name, version, params, components = "moody", 1, {}, {}

    def __init__(self, lm: LM, inner: Any) -> None:
        self.lm, self.inner = lm, inner

    def prepare(self, support: Any) -> None: ...

    def edit(self, requests: Sequence[Fact]) -> Any:
        if requests[0].subject.text == "Norway":
            raise RuntimeError("cannot edit Norway")
        edit = self.inner.edit(requests)
        if requests[0].subject.text == "France":
            return _Unreadable(edit)
        return _Lonely(edit) if requests[0].subject.text == "Quito" else edit

    def edit_each(self, requests: Sequence[Fact]) -> list[Any]:
        return [self.edit([request]) for request in requests]


class _Lonely(Edit):
    """An edit that cannot share a batch."""

    deltas = None

    def __init__(self, edit: Any) -> None:
        self._edit, self.notes, self.on = edit, edit.notes, edit.on
        self.rewrite = edit.rewrite  # type: ignore[method-assign]


class _Unreadable(_Lonely):
    def __init__(self, edit: Any) -> None:
        super().__init__(edit)
        self.deltas = edit.deltas

        def rewrite(prompt: str) -> str:
            raise ValueError("no prompt is good enough")

        self.rewrite = rewrite


def test_one_cases_fault_is_that_cases_result(tmp_path: Path) -> None:
    lm = make("llama")
    ft = make_editor("ft", lm, Cache(tmp_path), OPTIONS["ft"])
    none = make_editor("none", lm, Cache(tmp_path), {})
    config = RunConfig.model_validate({"split": "mini", "editors": ["prompt"], "out": str(tmp_path)})

    def go(out: str, engine: Any) -> EditorOutcome:
        def made(name: str, params: Any) -> Any:
            return none if name == "none" else Moody(lm, ft)

        variant = config.model_copy(update={"out": tmp_path / out})
        return runner_of(variant, split(), scorer=ModelScorer(lm), make=made, engine=engine).run()[1]

    slow, fast = go("slow", SimpleEngine(ModelScorer(lm))), go("fast", FastEngine(lm, group=5))
    assert fast.failed == 2
    errors = {k: r.error.partition(" (")[0] for k, r in fast.folder.results().items() if r.error}
    assert errors == {
        "case/norway": "RuntimeError: cannot edit Norway",
        "case/france": "ValueError: no prompt is good enough",
    }
    same(slow, fast, within=5e-4)


def test_memory_running_out_halves_the_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    errors = itertools.cycle([torch.cuda.OutOfMemoryError("CUDA out of memory"), MemoryError("no")])
    lm = make("llama")
    want = run(lm, tmp_path / "want", names=["rome"])
    base, sizes = lm.module(lm.layout.base), []
    real = base.forward

    def tight(*args: Any, **kwargs: Any) -> Any:
        sizes.append(kwargs["input_ids"].numel())
        if sizes[-1] > 150:
            raise next(errors)
        return real(*args, **kwargs)

    monkeypatch.setattr(base, "forward", tight)
    engine = FastEngine(lm, scorer=EditScorer(lm, budget=TokenBudget(4096)))
    result = run(lm, tmp_path / "got", names=["rome"], engine=engine)
    assert max(sizes) > 150 and engine.scorer.budget.tokens < 4096
    assert all(outcome.failed == 0 for outcome in result.values())
    for label in ("none", "rome"):
        same(want[label], result[label], within=5e-4)


def _probes(case: Any) -> list[ScoreProbe]:
    targets = (case.fact.new_object.text, case.fact.old.text)
    return [ScoreProbe(purpose="fact", item=case.key, prompt=case.fact.fact_prompt, targets=targets)]


class _Late(Edit):
    """An edit that is made when it is put on, which takes 100 seconds by the clock of the test."""

    deltas, notes = None, {}

    def __init__(self, clock: list[float]) -> None:
        self.clock = clock

    @contextmanager
    def on(self, lm: LM) -> Iterator[LM]:
        self.clock[0] += 100.0
        yield lm


def test_training_at_the_putting_on_counts_as_editing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the reference engine counts it; passes take no time by this clock, and looking at it a second."""
    lm, clock = make("llama"), [0.0]

    def look() -> float:
        clock[0] += 1.0
        return clock[0]

    for engine_module in (fast_engine, simple_engine):
        monkeypatch.setattr(engine_module.time, "perf_counter", look)
    editor: Any = make_editor("none", lm, Cache(Path("unused")), {})
    editor.edit = lambda requests: _Late(clock)
    editor.edit_each = lambda requests: [_Late(clock) for _ in requests]
    cases = [make_case(land, old="Lima", new="Oslo") for land in ("Peru", "Norway")]
    jobs = [Job(case.key, case, tuple(_probes(case))) for case in cases]
    for engine in (FastEngine(lm, group=2), SimpleEngine(ModelScorer(lm))):
        done = list(engine.work(editor, jobs))
        assert all(100.0 < d.seconds_edit < 110.0 and d.seconds_score < 10.0 for d in done), done


def test_both_engines_note_the_prompt_that_was_read() -> None:
    lm, case = make("llama"), make_case("Peru", old="Lima", new="Oslo")
    probe = GenerateProbe(purpose="script_question", item="q", prompt="How to go?", most=2)
    editor = make_editor("prompt", lm, Cache(Path("unused")), {})
    jobs = [Job("peru", case, (probe,))]
    (fast,), (simple,) = FastEngine(lm).work(editor, jobs), SimpleEngine(ModelScorer(lm)).work(editor, jobs)
    assert fast.notes == simple.notes
    text = prompt_as_read(probe, fast.notes)
    assert text.endswith("How to go?") and "Oslo" in text
    rewrite = editor.edit([case.fact]).rewrite
    for engine in (FastEngine(lm), SimpleEngine(ModelScorer(lm))):
        (probes,) = engine.ask(jobs, rewrite=rewrite)
        assert prompt_as_read(probe, probes.notes) == text


def jobs() -> list[Job]:
    metric = METRICS.get("es")()
    return [Job(c.key, c, tuple(metric.probes(c))) for c in make_cases(3, 0).cases]


def test_the_model_as_it_stands_is_asked_with_the_prompts_rewritten() -> None:
    lm = ArithmeticLM()
    answers = SimpleEngine(lm).ask(jobs(), rewrite=lambda text: "Oslo. " + text)
    assert [list(d.answers) for d in answers] == [lm.score(j.probes, rewrite=lambda t: "Oslo. " + t) for j in jobs()]


def test_notes_become_json_values() -> None:
    result = plain({"loss": torch.tensor(0.5), "path": Path("a"), "steps": 3, "inside": {"ok": True, "list": (1, 2)}})
    assert result == {"loss": 0.5, "path": "a", "steps": 3, "inside": {"ok": True, "list": [1, 2]}}
    assert json.loads(json.dumps(result)) == result


def asks(*prompts: str) -> list[GenerateProbe]:
    return [GenerateProbe(purpose="script_question", item=p, prompt=p) for p in prompts]


def test_what_stands_before_prompts_is_kept_once_and_read_back() -> None:
    probes = asks("How?", "Why?")
    score = ScoreProbe(purpose="fact", item="x", prompt="Lima is in", targets=("Peru",))
    note = rewritten([score, *probes], lambda p: f"It is so.\n{p}")
    assert [one["before"] for one in note[REWRITTEN]] == ["It is so.\n"]
    assert [prompt_as_read(p, note) for p in probes] == ["It is so.\nHow?", "It is so.\nWhy?"]
    assert json.loads(json.dumps(note)) == note


def test_any_other_change_is_kept_whole_and_no_change_leaves_no_note() -> None:
    probes = asks("How?", "Why?")
    note = rewritten(probes, lambda p: p.upper() if p == "How?" else p)
    assert [prompt_as_read(p, note) for p in probes] == ["HOW?", "Why?"]
    assert rewritten(probes, None) == rewritten(probes, lambda p: p) == {}
    assert prompt_as_read(probes[0], {}) == "How?"


def test_answers_that_are_added_later_lose_no_prompt_and_those_asked_anew_show_the_new_one() -> None:
    first, second = asks("How?", "Why?")
    old = rewritten([first, second], lambda p: f"Old. {p}")
    new = rewritten([second], lambda p: f"New. {p}")
    both = with_earlier({"loss": 1, **new}, {"loss": 2, **old}, {second.id})
    assert [prompt_as_read(p, both) for p in (first, second)] == ["Old. How?", "New. Why?"] and both["loss"] == 1
    assert with_earlier({"loss": 1}, {}, {first.id}) == {"loss": 1}


MIB = 2**20


def hold(size: int) -> None:
    """Touch so many bytes, then give them back to the system."""
    with mmap.mmap(-1, size) as block:
        for at in range(0, size, mmap.PAGESIZE):
            block[at] = 1


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells the peak since a moment")
def test_it_sees_what_was_given_back_and_forgets_what_was_before() -> None:
    hold(256 * MIB)
    memory = PeakMemory("cpu")
    base = memory.read()
    hold(128 * MIB)
    peak = memory.read()
    assert 100 * MIB < peak - base < 200 * MIB, "it is held no longer, and counts; what was before does not"
    assert peak - PeakMemory("cpu").read() > 64 * MIB, "a new count begins with what is held now"


def test_without_the_kernels_files_the_peak_of_the_process_stands_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    memory = PeakMemory("cpu").read()
    monkeypatch.setattr(peak_memory, "_CLEAR", tmp_path / "no" / "clear")
    monkeypatch.setattr(peak_memory, "_STATUS", tmp_path / "no" / "status")
    assert PeakMemory("cpu").read() >= memory // 2 > MIB, "bytes, not kilobytes"


@pytest.mark.gpu
def test_on_a_gpu_it_is_what_was_allocated_there() -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    memory = PeakMemory("cuda")
    before = memory.read()
    torch.zeros(64 * MIB, dtype=torch.uint8, device="cuda")
    assert memory.read() - before >= 64 * MIB


def test_the_environment_names_no_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result = environment("cuda")
    assert result["device"] == "cuda" and result["packages"]["torch"] and platform.node() not in json.dumps(result)
    monkeypatch.setattr(module, "_PACKAGES", ("torch", "no-such-package-here"))
    assert environment()["packages"]["no-such-package-here"] is None
    assert module._git(tmp_path) is None, "an installed package has no checkout"
    (tmp_path / ".git").mkdir()
    assert module._git(tmp_path) is None, "nor has a folder that only looks like one"


def test_two_gpus_can_be_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    cards = {
        "cuda:0": SimpleNamespace(name="Card A", major=9, minor=0, total_memory=150_000_000_000),
        "cuda:1": SimpleNamespace(name="Card B", major=8, minor=6, total_memory=24_000_000_000),
    }
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_properties", cards.__getitem__)
    requests: list[tuple[str, ...]] = []

    def run(words: tuple[str, ...], **options: Any) -> subprocess.CompletedProcess[str]:
        requests.append(words)
        if words[0] != "nvidia-smi":
            raise OSError("no git here")
        return subprocess.CompletedProcess(words, 0, stdout="580.65\n580.65\n")

    monkeypatch.setattr(subprocess, "run", run)
    one, other = environment("cuda:0")["accelerator"], environment("cuda:1")["accelerator"]
    assert (one["name"], one["capability"], one["memory_bytes"]) == ("Card A", "9.0", 150_000_000_000)
    assert (other["name"], other["capability"]) == ("Card B", "8.6")
    assert one["driver"] == "580.65" and one["count"] == 2 and one["tf32"] in (True, False)
    assert environment("cuda:0")["peak_memory"] == "allocated on the device"
    assert environment("cpu")["accelerator"] is None, "a card that is not used does not count"
    assert environment("cuda:0")["git"] is None


def test_attention_is_on_record() -> None:
    weights = make("llama").model
    weights.config._attn_implementation = "eager"
    assert environment("cpu", weights=weights)["attention"] == "eager"
    assert environment("cpu")["attention"] is None
