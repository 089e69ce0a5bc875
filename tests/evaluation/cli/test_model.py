from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import scedit.commands
from curation.files.artifact_cache import Cache
from curation.shipped import shipped_split
from curation.splits.split_file import Split, make_split, write_split
from evaluation.cli.model import tune as command
from evaluation.editors.hypernetwork.mend import Mend
from evaluation.editors.hypernetwork.mend_doc import DocumentMend
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from evaluation.runs.refusals import refuse_overlap
from scedit.commands import cli
from schemas.cases import Case
from schemas.core.errors import UserError
from tests.support.arithmetic import make_case
from tests.support.commands import json_value
from tests.support.documents.records import make_document
from tests.support.editors import mend, mend_doc
from tests.support.editors.mend import QUICK
from tests.support.evaluation import tuning
from tests.support.evaluation.tiny_runs import saved
from tests.support.evaluation.tuning import SPACE
from tests.support.facts import peru_fact
from tests.support.small import SMALL
from tests.support.tiny import make


def invoke(*args: object) -> tuple[int, str]:
    result = CliRunner().invoke(scedit.commands.cli, [str(a) for a in args], catch_exceptions=False)
    return result.exit_code, result.output


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    folder = saved(make("gemma2"), tmp_path / "m")
    status, text = invoke("model", "doctor", folder, "--device", "cpu")
    assert status == 0 and "works; " in text and "stored [out, in]" in text
    status, text = invoke("model", "doctor", folder, "--device", "cpu", "--dtype", "bfloat16", "--json")
    report = json.loads(text)
    assert status == 0 and report["works"] and report["findings"][0]["facts"]["dtype"] == "bfloat16"


def test_command_says_why_a_model_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    status, text = invoke("model", "doctor", tmp_path / "absent")
    assert status == 1 and "cannot be used" in text and "does not work: 1 of 1" in text
    status, text = invoke("model", "doctor", tmp_path / "absent", "--json")
    assert status == 1 and json.loads(text)["works"] is False


def test_a_layout_from_a_file(tmp_path: Path) -> None:
    folder, file = saved(make("gpt2"), tmp_path / "m"), tmp_path / "my.toml"
    file.write_text('[layout]\nlike = "gpt2"\nmlp_out = "mlp.c_proj"\n')
    status, text = invoke("model", "doctor", folder, "--layout", file)
    assert status == 0 and "Out: mlp.c_proj" in text
    file.write_text('[layout]\nlike = "gpt2"\nmlp_out = "mlp.w2"\n')
    status, text = invoke("model", "doctor", folder, "--layout", file)
    assert status == 1 and "layout.mlp_out" in text and "no module 'mlp.w2'" in text


cases = mend.cases


def test_train_command_refuses(tmp_path: Path) -> None:
    split = tmp_path / "train.jsonl"
    write_split(make_split("train", [make_case("Land01")]), split)
    out = ["--out", str(tmp_path / "m.safetensors")]
    for args, message in (
        (["--editors", "rome", "--support", "shipped", *out], "'rome' is not trained beforehand; allowed: mend"),
        (["--editors", "mend", *out], "what to train on"),
        (
            ["--editors", "mend", "--support", "documents_from_facts", *out],
            "'mend' learns from cases of facts, those of the support are documents; name --support shipped",
        ),
        (["--editors", "mend_doc", "--support", "shipped", *out], "name --support documents_from_facts"),
        (["--editors", "mend_doc", "--support", "documents", *out], "is for evaluation only"),
        (["--editors", "mend", "--support", "mini", "--heldout", "mini", *out], "shares the case 'case/open/"),
        (
            ["--editors", "mend", "--split-file", str(split), "--heldout", str(split), *out],
            "shares the case 'case/land01'",
        ),
    ):
        result = CliRunner().invoke(cli, ["model", "train", *args])
        assert isinstance(result.exception, UserError) and message in str(result.exception), args


def test_train_command_writes_a_checkpoint(cases: list[Case], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LM, "load", lambda name, **_: make("llama"))
    write_split(make_split("train", cases), tmp_path / "train.jsonl")
    settings = [f"--set={k}={list(v) if isinstance(v, tuple) else v}" for k, v in QUICK.items()]
    out = tmp_path / "m.safetensors"
    args = [
        "model",
        "train",
        "--editors",
        "mend",
        "--split-file",
        str(tmp_path / "train.jsonl"),
        "--heldout",
        str(SMALL),
        "--drop-overlap",
        *settings,
    ]
    result = CliRunner().invoke(cli, [*args, "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "step 6 of 6" in result.output and "left out" in result.output and f"Written {out}" in result.output
    training_data = Mend.training_data({"checkpoint": str(out)})
    assert training_data is not None and "france" not in training_data.subjects and "oslo" in training_data.subjects
    assert edits_with(make("llama"), out)


def test_a_method_for_documents_is_trained_by_the_same_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LM, "load", lambda name, **_: make("llama"))
    settings = [f"--set={k}={list(v) if isinstance(v, tuple) else v}" for k, v in mend_doc.QUICK.items()]
    out = tmp_path / "m.safetensors"
    args = ["model", "train", "--editors", "mend_doc", "--support", "documents_from_facts", "--limit", "12", *settings]
    result = CliRunner().invoke(cli, [*args, "--heldout", "documents", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "12 cases of documents_from_facts" in result.output and "step 6 of 6" in result.output
    refuse_overlap(DocumentMend.trained_on(out), shipped_split("documents"), where="x")  # no refusal
    editor = make_editor("mend_doc", make("llama"), Cache(tmp_path), {"checkpoint": str(out)})
    assert editor.edit([make_document()]).deltas


def edits_with(lm: LM, out: Path) -> bool:
    return bool(make_editor("mend", lm, Cache(out.parent), {"checkpoint": str(out)}).edit([peru_fact()]).deltas)


split = tuning.split


def test_the_command(tmp_path: Path, split: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(LM, "load", classmethod(lambda cls, name, **settings: make("llama")))
    write_split(split, tmp_path / "dev.jsonl")
    write_split(make_split("evaluated", [make_case("Land03")]), tmp_path / "evaluated.jsonl")
    (tmp_path / "space.toml").write_text(SPACE)
    words = [
        "--editors",
        "ft",
        "--split",
        str(tmp_path / "dev.jsonl"),
        "--space",
        str(tmp_path / "space.toml"),
        "--budget",
        "12",
    ]
    words += ["--set", "layer=1", "--objective", "es,ns", "--first", "2", "--out", str(tmp_path / "out")]
    outcome = CliRunner().invoke(command, [*words, "--heldout", str(tmp_path / "evaluated.jsonl")])
    assert isinstance(outcome.exception, UserError) and "shares" in str(outcome.exception)
    result = CliRunner().invoke(command, words, catch_exceptions=False)
    assert "of 12 edits, the preset's among them" in result.output
    assert "nothing was checked" in result.output
    output = CliRunner().invoke(command, [*words, "--json", "--heldout", "mini"], catch_exceptions=False)
    (row,) = json_value(output.stdout)
    assert (row["method"], row["budget"]) == ("ft", 12) and "layer" in row["snippet"]
    words[words.index("--split") + 1], words[words.index("--out") + 1] = "shipped", str(tmp_path / "shipped")
    shipped = CliRunner().invoke(command, [*words, "--budget", "4", "--heldout", "mini"], catch_exceptions=False)
    assert "ft: 1 setting on 2 cases; 4 of 4 edits" in shipped.output
    missing = CliRunner().invoke(
        command, ["--editors", "ft", "--split", "nowhere.jsonl", "--out", str(tmp_path / "out")]
    )
    assert isinstance(missing.exception, UserError) and "there is no such split file" in str(missing.exception)


@pytest.mark.parametrize("word", ["em_spec", "em_spec=", "em_spec=much", "em_spec=90", "em_spec=-0.1"])
def test_a_limit_is_a_metric_and_a_share(word: str, tmp_path: Path) -> None:
    words = ["--editors", "ft", "--split", "mini", "--subject-to", word, "--out", str(tmp_path / "out")]
    outcome = CliRunner().invoke(command, words)
    assert isinstance(outcome.exception, UserError)
    assert f"--subject-to: '{word}' names no share that a metric must reach" in str(outcome.exception)


def test_what_is_reported_on_is_not_tuned_on(tmp_path: Path) -> None:
    for name in ("open:test", "open"):
        words = ["--editors", "ft", "--split", name, "--out", str(tmp_path / "out")]
        result = CliRunner().invoke(command, words)
        assert isinstance(result.exception, UserError) and not (tmp_path / "out").exists()
        assert str(result.exception).startswith(f"--split {name}: ") and "a case of open:test" in str(result.exception)
