"""SERAC as an editor: trained on support or beforehand, refused where it must not be used, and it routes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from curation.files.artifact_cache import Cache
from curation.similarity import embeddings
from curation.splits.split_file import make_split
from evaluation.editors.presets import make_without_model
from evaluation.editors.routed import serac as module
from evaluation.editors.routed.serac import Serac
from evaluation.runs.config import RunConfig
from schemas.core.errors import DataError, UserError
from tests.support.arithmetic import make_case
from tests.support.evaluation.routed_events import ELSEWHERE, TOWNS, HashedVectors, tiny_encoder, town_cases
from tests.support.evaluation.runner_of import check_methods

QUICK: dict[str, Any] = {
    "epochs": 25,
    "hidden": 8,
    "dropout": 0.2,
    "lr": 0.005,
    "batch": 16,
    "near": 4,
    "far": 2,
    "names_apart": False,
}
FEW, NEW, AWAY = TOWNS[:16], TOWNS[32:40], ELSEWHERE[32:40]


@pytest.fixture(autouse=True)
def quick_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Vectors", lambda encoder, device: HashedVectors())


def made(folder: Path, **params: Any) -> Serac:
    editor = make_without_model("serac", Cache(folder), {**QUICK, **params})
    assert isinstance(editor, Serac)
    return editor


def questions(towns: list[str]) -> list[str]:
    return [f"Question: Who is mayor of {town}?\nAnswer:" for town in towns]


def test_trained_beforehand_it_routes_new_towns(tmp_path: Path) -> None:
    steps: list[Any] = []
    out = tmp_path / "head.safetensors"
    model = made(tmp_path).train(town_cases(TOWNS[:32]), name="towns", out=out, on_step=steps.append)
    assert len(steps) == 25 and model.held_out.facts is not None
    editor, events = made(tmp_path, checkpoint=str(out)), [c.event for c in town_cases(NEW)]
    editor.read_split(events)
    edit = editor.edit(events[:1])
    texts = [
        f"Event: {town} has elected Ada as its new mayor.\n{p}" for town, p in zip(NEW, questions(NEW), strict=True)
    ]
    assert sum(edit.rewrite(p) == text for p, text in zip(questions(NEW), texts, strict=True)) >= 6
    assert sum(edit.rewrite(prompt) == prompt for prompt in questions(AWAY)) >= 6
    assert editor.components["encoder"] == embeddings.MODEL and len(editor.components["checkpoint"]) == 64


def test_trained_on_the_support_once_and_kept(tmp_path: Path) -> None:
    times = []
    for _ in range(2):
        made(tmp_path, epochs=1).prepare(town_cases(FEW))
        (file,) = tmp_path.glob("**/serac-*.safetensors")
        times.append(file.stat().st_mtime_ns)
    assert times[0] == times[1]


def test_a_checkpoint_of_another_encoder_and_one_that_saw_the_split_are_refused(tmp_path: Path) -> None:
    out, cases = tmp_path / "head.safetensors", town_cases(FEW)
    made(tmp_path, epochs=1).train(cases[:8], name="towns", out=out)
    (tmp_path / "e5").mkdir()
    (tmp_path / "e5" / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(UserError, match=r"trained with the encoder all-MiniLM-L6-v2, not with e5@"):
        made(tmp_path, checkpoint=str(out), encoder=str(tmp_path / "e5")).prepare([])
    with pytest.raises(UserError, match=r"trained with the encoder all-MiniLM-L6-v2, not with e5@"):  # a dry run, too
        Serac.training_data({"checkpoint": str(out), "encoder": str(tmp_path / "e5")})
    with pytest.raises(UserError, match="there is no encoder in this folder"):
        Serac.training_data({"checkpoint": str(out), "encoder": str(tmp_path / "nowhere")})
    choice = {"name": "serac", "params": {"checkpoint": str(out)}}
    config = RunConfig.model_validate({"split": "events", "editors": [choice], "out": "o"})
    check_methods(config, make_split("e", cases[8:]))
    with pytest.raises(UserError, match=r"it learnt from towns, which shares the case 'case/e/Elba'.*1 of 9 cases"):
        check_methods(config, make_split("e", [cases[4], *cases[8:]]))


def test_nothing_to_learn_from(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no trained file"):
        made(tmp_path).prepare([])
    with pytest.raises(UserError, match="these cases are facts; name events"):
        made(tmp_path).train([make_case("Land01")], name="facts", out=tmp_path / "x")
    with pytest.raises(DataError, match="not a file"):
        Serac.training_data({"checkpoint": str(tmp_path / "none")})
    config = RunConfig.model_validate({"split": "events", "editors": ["serac"], "out": "o"})
    with pytest.raises(UserError, match='none are declared; add support = "events_from_facts"'):
        check_methods(config, make_split("e", town_cases(FEW)))


def test_the_cross_scorer_is_trained_kept_and_used_through_the_same_options(tmp_path: Path) -> None:
    """Its checkpoint says which scorer it is; the usual values are those of the scorer."""
    cases = town_cases(FEW)
    encoder = str(tiny_encoder(tmp_path / "tiny", [c.event.text for c in cases] + questions(FEW)))
    params = {"scorer": "cross", "encoder": encoder}
    usual = Serac.Params.model_validate(params)
    assert (usual.epochs, usual.batch, usual.lr, usual.shortlist) == (1, 32, 3e-5, 16)
    assert Serac.Params.model_validate({**params, "batch": 8}).batch == 8 and Serac.Params().batch == 64
    out = tmp_path / "cross.safetensors"
    editor = make_without_model("serac", Cache(tmp_path), {**params, "near": 2, "far": 1})
    assert isinstance(editor, Serac)
    editor.train(cases, name="towns", out=out)
    used = made(tmp_path, checkpoint=str(out), encoder=encoder, threshold=0.0)
    used.read_split([c.event for c in cases])
    edit = used.edit([cases[0].event])
    assert all(edit.rewrite(prompt).startswith("Event: ") for prompt in questions(FEW[:3])), "all pass 0"
    assert Serac.training_data({"checkpoint": str(out), "encoder": encoder}) is not None
    with pytest.raises(UserError, match=r"trained with the encoder tiny@\w+, not with all-MiniLM-L6-v2"):
        made(tmp_path, checkpoint=str(out)).prepare([])
