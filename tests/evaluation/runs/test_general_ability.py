"""The evaluation harness asks our models, edited and not, and gives what our own scoring gives."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from evaluation.edits.edit import NoEdit, WeightEdit
from evaluation.edits.weight_deltas import DenseDelta
from evaluation.inference.scoring import score
from evaluation.runs.general_ability import Ability, ability, changes
from schemas.core.errors import UserError
from schemas.probes import ScoreProbe
from tests.support.tiny import make

needs_harness = pytest.mark.skipif(
    find_spec("lm_eval") is None, reason="the extra 'harness' (package lm-eval) is not installed"
)
DOCUMENTS = [
    {"question": "The capital of Peru is", "choices": ["Lima", "Oslo", "Paris"], "answer": 0},
    {"question": "The capital of Norway is", "choices": ["Lima", "Oslo", "Paris"], "answer": 1},
    {"question": "The capital of France is", "choices": ["Lima", "Oslo", "Paris"], "answer": 2},
    {"question": "Peru is a", "choices": ["country", "kingdom", "city"], "answer": 0},
]
TASK = """task: tiny_capitals
dataset_path: json
dataset_kwargs:
  data_files: {{test: "{data}"}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{question}}}}"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: "{{{{answer}}}}"
metric_list:
  - {{metric: acc, aggregation: mean, higher_is_better: true}}
metadata: {{version: 1}}
"""


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return tiny_task(tmp_path, monkeypatch)


def tiny_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one task whose data is a local file."""
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(d) + "\n" for d in DOCUMENTS))
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "tiny.yaml").write_text(TASK.format(data=data))
    return tmp_path / "tasks"


def by_hand(model) -> float:
    """Accuracy from our own sums of log-probabilities."""
    hits = 0
    for d in DOCUMENTS:
        probe = ScoreProbe(purpose="fact", item="x", prompt=d["question"], targets=tuple(d["choices"]))
        (answer,) = score(model, [probe])
        values = [t.logprob for t in answer.targets]
        hits += values.index(max(values)) == d["answer"]
    return hits / len(DOCUMENTS)


@needs_harness
def test_the_harness_gives_what_we_score_before_under_and_after_an_edit(task):
    model = make("llama")
    name = next(n for n, _ in model.model.named_parameters() if n.endswith("down_proj.weight"))
    weight = dict(model.model.named_parameters())[name]
    shift = torch.randn(weight.shape, generator=torch.Generator().manual_seed(3)) * 2
    edit = WeightEdit((DenseDelta(name, shift),))
    before = ability(model, ["tiny_capitals"], include=task)
    assert [(a.task, a.metric, a.documents) for a in before] == [("tiny_capitals", "acc", 4)]
    assert before[0].value == by_hand(model)
    after = ability(model, ["tiny_capitals"], edit=edit, include=task)
    with edit.on(model):
        assert after[0].value == by_hand(model)
    assert ability(model, ["tiny_capitals"], include=task) == before, "the edit is gone"
    assert ability(model, ["tiny_capitals"], include=task, limit=2)[0].documents == 2


@needs_harness
def test_unknown_tasks_are_refused(task):
    with pytest.raises(UserError, match="no such task: no_such_task"):
        ability(make("llama"), ["no_such_task"], include=task)


def test_an_edit_in_the_prompt_is_refused():
    with pytest.raises(UserError, match="lives in the prompt"):
        ability(make("llama"), ["any"], edit=NoEdit())


@pytest.mark.skipif(find_spec("lm_eval") is not None, reason="the extra 'harness' is installed")
def test_without_the_extra_it_says_what_to_install():
    with pytest.raises(UserError, match=r"pip install 'scedit\[harness\]'"):
        ability(make("llama"), ["any"])


def test_changes_pair_metrics_and_widen_by_both_errors():
    acc = Ability("t", "acc", 0.5, 0.03, 100, True)
    found = changes([acc, acc._replace(metric="norm")], [acc._replace(value=0.4, error=0.04)])
    assert len(found) == 1
    assert found[0].difference == pytest.approx(-0.1)
    assert found[0].half == pytest.approx(1.96 * 0.05)
    assert changes([acc], [acc._replace(error=None)])[0].half is None
