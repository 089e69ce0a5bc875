"""The command train."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from curation.files.artifact_cache import Cache
from curation.shipped import shipped_split
from curation.splits.split_file import make_split, write_split
from evaluation.editors.hypernetwork.mend import Mend
from evaluation.editors.hypernetwork.mend_doc import DocumentMend
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from evaluation.runs.refusals import refuse_overlap
from scedit.commands import cli
from schemas.cases import Case
from schemas.core.errors import UserError
from tests.support.arithmetic import make_case
from tests.support.documents.records import make_document
from tests.support.editors import mend, mend_doc
from tests.support.editors.mend import QUICK
from tests.support.facts import peru_fact
from tests.support.tiny import make

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
        (["--editors", "mend", "--support", "mini", "--heldout", "mini", *out], "shares the case 'case/mini/cf-001'"),
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
        "mini",
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
