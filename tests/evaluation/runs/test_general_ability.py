"""The evaluation harness asks our models, edited and not, and gives what our own scoring gives."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from curation.stats.bounded import difference_interval
from evaluation.edits.edit import NoEdit, WeightEdit
from evaluation.edits.weight_deltas import DenseDelta
from evaluation.inference.scoring import score
from evaluation.runs.general_ability import _read, ability, changes
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


def recorded(values: list[float], *, aggregated: float | None = None, samples: bool = True, **more):
    """Results in the shape that the harness (0.4.9) returns with ``log_samples``."""
    mean = sum(values) / len(values) if aggregated is None else aggregated
    rows = [
        {"doc_id": n, "doc": {"question": str(n)}, "target": "0", "arguments": [], "resps": [], "filtered_resps": [],
         "filter": "none", "metrics": ["acc"], "doc_hash": "x", "acc": v}
        for n, v in enumerate(values)
    ]  # fmt: skip
    return {
        "results": {"t": {"alias": "t", "acc,none": mean, "acc_stderr,none": 0.01}},
        "group_subtasks": {"t": []},
        "n-samples": {"t": {"original": len(values), "effective": len(values)}},
        "higher_is_better": {"t": {"acc": True}},
        **({"samples": {"t": rows}} if samples else {}),
        **more,
    }


def change(before: list[float], after: list[float]):
    (one,) = changes(_read(recorded(before)), _read(recorded(after)))
    return one


def test_before_and_after_are_paired_by_document():
    """The two were taken for independent: far too wide where the same documents are lost."""
    before, after = [1.0] * 60 + [0.0] * 40, [1.0] * 55 + [0.0] * 45
    difference = change(before, after).difference
    assert difference.mean == pytest.approx(-0.05) and difference.n == 100
    assert difference.high - difference.low < 1.96 * 2 * (2 * 0.24 / 100) ** 0.5 * 0.75
    slow = difference_interval({str(n): v for n, v in enumerate(after)}, {str(n): v for n, v in enumerate(before)})
    assert difference == slow


def test_few_documents_and_no_change_are_no_certainty():
    same = change([1.0] * 5, [1.0] * 5).difference
    assert same.mean == 0 and same.low < -0.3 and same.high > 0.3
    one = change([1.0], [0.0]).difference
    assert (one.mean, one.low, one.high) == (-1.0, None, None)


def test_without_samples_it_refuses_in_one_sentence():
    for results in (recorded([1.0, 0.0], samples=False), recorded([1.0], samples=False)):
        with pytest.raises(UserError, match="no answers by document for 't'") as error:
            _read(results)
        assert "pip install -U" in str(error.value)


def test_what_is_no_mean_over_documents_has_no_interval_and_says_so():
    (contents,) = changes(_read(recorded([1.0, 0.0], aggregated=17.3)), _read(recorded([1.0, 0.0], aggregated=18.3)))
    assert contents.difference.low is None and contents.before.why == "no mean over documents"
    assert contents.difference.mean == pytest.approx(1.0)
    pairs = recorded([1.0, 0.0])
    pairs["samples"]["t"][0]["acc"] = (-3.0, 4)
    assert _read(pairs)[0].by_document == {}
    group = recorded([1.0, 0.0], samples=False, group_subtasks={"t": ["a", "b"]})
    assert _read(group)[0].why.startswith("a group of tasks")


def test_filters_are_told_apart_and_other_documents_refused():
    both = recorded([1.0, 0.0])
    both["results"]["t"]["acc,strict"] = 0.0
    both["samples"]["t"] += [{**row, "filter": "strict", "acc": 0.0} for row in both["samples"]["t"]]
    assert [(a.metric, a.value, len(a.by_document)) for a in _read(both)] == [("acc", 0.5, 2), ("acc (strict)", 0.0, 2)]
    with pytest.raises(UserError, match="other documents of 't'"):
        change([1.0, 0.0], [1.0, 0.0, 1.0])
