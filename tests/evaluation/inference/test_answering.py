"""Probes answered by text: the same texts from both engines, journaled and resumed, in every regime; refusals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from curation.splits.split_file import Split, make_split
from evaluation.editors.base import Editor
from evaluation.edits.edit import Edit, NoEdit, PromptEdit, WeightEdit
from evaluation.edits.weight_deltas import DenseDelta, LowRankDelta
from evaluation.engines.fast import FastEngine
from evaluation.engines.simple import SimpleEngine
from evaluation.inference.answering import ModelScorer, answer, model_input, write
from evaluation.metrics.generation import Generation, GenerationChoice, load_metrics
from evaluation.models.language_model import LM
from evaluation.runs.config import RunConfig
from evaluation.runs.runner import EditorOutcome
from schemas.core.config import Options
from schemas.core.errors import UserError
from schemas.core.ids import seed
from schemas.facts import Fact
from schemas.probes import GenerateProbe
from tests.support.arithmetic import make_case
from tests.support.evaluation.runner_of import runner_of
from tests.support.tiny import make

LANDS = ("Peru", "Norway", "France", "Madrid", "Quito")  # edited each in its own way, see Mixed
METRICS = ["s_es", "s_es_gen", "s_es_gen_question"]
CHAT = "{% for m in messages %}<s>{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"


def roomy(kind: str = "llama") -> LM:
    names = {"gpt2": "n_positions"}
    return make(kind, **{names.get(kind, "max_position_embeddings"): 700})


def split() -> Split:
    return make_split("tiny", [make_case(land, old="Lima", new="Oslo") for land in LANDS])


class _Lonely(Edit):
    """An edit that cannot share a batch."""

    deltas = None

    def __init__(self, edit: Any) -> None:
        self._edit, self.notes, self.on = edit, edit.notes, edit.on
        self.rewrite = edit.rewrite  # type: ignore[method-assign]


class Mixed(Editor):
    """Low-rank, dense, in the prompt, not sharing, or failing: what it does depends on the subject."""

    version, components = 1, {}

    def __init__(self, lm: LM, name: str) -> None:
        self.lm, self.name, self.params = lm, name, Options()

    def prepare(self, support: Any) -> None: ...

    def edit(self, requests: Sequence[Fact]) -> Any:
        subject = requests[0].subject.text
        if self.name == "none":
            return NoEdit()
        if subject == "Madrid":
            raise RuntimeError("cannot edit Madrid")
        if subject == "France":
            return PromptEdit(prefix="The capital of France is Oslo. ")
        generator = torch.Generator().manual_seed(len(subject))
        out, inner, weight = self.lm.layout.width, self.lm.layout.inner, self.lm.layout.weight
        if subject == "Norway":
            return WeightEdit((DenseDelta(weight(0), 0.3 * torch.randn(out, inner, generator=generator)),))
        left, right = torch.randn(out, 1, generator=generator), torch.randn(inner, 1, generator=generator)
        edit = WeightEdit((LowRankDelta(weight(1), left, right),))
        return _Lonely(edit) if subject == "Quito" else edit

    def edit_each(self, requests: Sequence[Fact]) -> list[Any]:
        return [self.edit([request]) for request in requests]

    def edit_after(self, requests: Sequence[Fact], earlier: Sequence[Any]) -> Any:
        return self.edit(requests)


def run(lm: LM, out: Path, engine: Any = None, **more: Any) -> dict[str, EditorOutcome]:
    answers = more.pop("answers", None)
    generation = {"max_tokens": 8, "step_tokens": 4, **more.pop("generation", {})}
    data: dict[str, Any] = {"split": "mini", "editors": ["none", "mixed"], "metrics": METRICS, "out": str(out)}
    config = RunConfig.model_validate({**data, "generation": generation, **more})
    runner = runner_of(
        config, split(), scorer=ModelScorer(lm), make=lambda name, _: Mixed(lm, name), engine=engine, answers=answers
    )
    return {outcome.label: outcome for outcome in runner.run()}


def texts(outcome: EditorOutcome) -> dict[tuple[str, str], tuple[Any, str | None]]:
    return {(k, a.probe): (a.written, a.error) for k, r in outcome.folder.units().items() for a in r.answers}


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        pytest.param("llama", {}, id="greedy"),
        pytest.param("gpt2", {"temperature": 1.0, "top_p": 0.9, "samples": 2, "max_tokens": 6}, id="drawn"),
    ],
)
def test_many_edits_together_write_what_each_writes_alone(kind: str, settings: dict[str, Any], tmp_path: Path) -> None:
    lm = roomy(kind)
    digest = lm.weights_digest()
    slow = run(lm, tmp_path / "slow", SimpleEngine(ModelScorer(lm)), generation=settings)
    fast = run(lm, tmp_path / "fast", FastEngine(lm, group=3), generation=settings)
    for label in ("none", "mixed"):
        assert texts(slow[label]) == texts(fast[label])
        errors = [r.error for r in fast[label].folder.units().values()]
        assert errors == [r.error for r in slow[label].folder.units().values()]
        assert sum(e is not None for e in errors) == (label == "mixed")
    wrote = {w.text for w, _ in texts(fast["mixed"]).values() if w is not None}
    assert len(wrote) > 8, "edits and seeds make a difference"
    assert lm.weights_digest() == digest


def test_answers_of_the_unedited_model_are_shared_one_by_one(tmp_path: Path) -> None:
    """Texts known from another run are not written again because a score is missing."""
    lm = roomy()
    kept = tmp_path / "answers.jsonl"
    first = run(lm, tmp_path / "a", FastEngine(lm), answers=kept, editors=["none"])
    wrote: list[int] = []
    engine = FastEngine(lm)
    real = engine.work
    engine.work = lambda editor, jobs: (
        wrote.extend(  # type: ignore[method-assign]
            sum(isinstance(p, GenerateProbe) for p in j.probes) for j in jobs if editor.name == "none"
        )
        or real(editor, jobs)
    )
    second = run(lm, tmp_path / "b", engine, answers=kept, metrics=[*METRICS, "es"], editors=["none"])
    assert wrote == [0] * len(LANDS)
    assert texts(first["none"]).items() <= texts(second["none"]).items()


def test_what_the_model_is_given() -> None:
    lm = make("gpt2")
    probe = GenerateProbe(purpose="p", item="i", prompt="How to go?", instruction="Be short.", start="Step 1:")
    assert model_input(lm, probe, lambda p: f"New fact. {p}").text == "Be short.\n\nNew fact. How to go?\nStep 1:"
    cut = GenerateProbe(purpose="p", item="i", prompt="Step 1: Say", separator=' "')
    assert model_input(lm, cut) == ('Step 1: Say "', False)
    lm.tokenizer.chat_template = CHAT
    try:
        assert model_input(lm, probe).chat is False, "never is the default"
        auto = model_input(lm, probe.model_copy(update={"chat": "auto"}))
        assert auto == ("<s>user: Be short.\n\nHow to go?\nassistant:", True)
        (found,) = write(lm, [probe.model_copy(update={"chat": "always", "most": 3})])
        assert found.written is not None and found.written.chat and not found.written.text.startswith("Step 1:")
    finally:
        lm.tokenizer.chat_template = None
    with pytest.raises(UserError, match="no chat template"):
        model_input(lm, probe.model_copy(update={"chat": "always"}))


def test_the_answer_holds_its_given_start() -> None:
    (found,) = write(make("gpt2"), [GenerateProbe(purpose="p", item="i", prompt="How?", start="Step 1:", most=2)])
    assert found.written is not None and found.written.text.startswith("Step 1:") and found.written.tokens == 2


def test_no_room_is_an_error_not_an_empty_text() -> None:
    lm = make("gpt2")
    long = GenerateProbe(purpose="p", item="i", prompt="Peru is a country. " * 40)
    short = GenerateProbe(purpose="p", item="i", prompt="Peru is", most=3)
    found = answer(ModelScorer(lm), [long, short, long], rewrite=None)
    assert found[0].written is None and "leaves no room in the 96" in (found[0].error or "")
    assert found[1].written is not None and found[2] == found[0]
    metric = load_metrics(["s_es_gen"], Generation(GenerationChoice(step_tokens=5)))[0]
    case = make_case("Peru")
    (first, *_) = metric.probes(case)
    scores = metric.score(case, {first.id: found[0].model_copy(update={"probe": first.id})}, {}, "mean")
    assert scores.items[0].value is None and "no room" in scores.items[0].reason


def test_ids_tell_what_is_asked_and_how() -> None:
    probe = GenerateProbe(purpose="p", item="i", prompt="How?")
    assert probe.id == GenerateProbe(purpose="q", item="j", prompt="How?").id
    for change in (
        {"most": 3},
        {"seed": 1},
        {"chat": "auto"},
        {"stop": ("\n",)},
        {"start": "Step 1:"},
        {"prompt": "?"},
    ):
        assert GenerateProbe.model_validate({**probe.model_dump(), **change}).id != probe.id


def test_seeds_come_from_split_case_and_purpose() -> None:
    drawn = Generation(GenerationChoice(temperature=0.7), "digest")
    assert drawn.seed("case", "purpose", "item", 1) == seed("digest", "case", "purpose", "item", "1")
    assert Generation(digest="digest").seed("case", "purpose", "item") == 0
