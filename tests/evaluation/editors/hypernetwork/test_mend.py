"""MEND: gradients taken apart, the network, its training (resumed after a kill), what a checkpoint refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from curation.files.artifact_cache import Cache
from curation.splits.split_file import make_split, write_split
from evaluation.editors.hypernetwork.mend import Mend
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from evaluation.runs.runner import execute
from schemas.cases import Case
from schemas.core.errors import DataError, UserError
from schemas.facts import Entity, Object
from tests.support.arithmetic import make_case, make_config
from tests.support.editors import mend
from tests.support.editors.mend import QUICK
from tests.support.facts import peru_fact
from tests.support.tiny import make

cases = mend.cases


def trained(lm: LM, folder: Path, cases: list[Case], **options: Any) -> Mend:
    method = Mend(Mend.Params(**{**QUICK, **options}), lm, Cache(folder / "cache"))
    method.prepare(cases)
    return method


def test_training_on_the_support_is_kept(tiny: LM, cases: list[Case], tmp_path: Path) -> None:
    first = trained(tiny, tmp_path, cases).edit([peru_fact()])
    path = list((tmp_path / "cache").glob("mend-*.safetensors"))
    stamp = path[0].stat().st_mtime_ns
    edit = trained(tiny, tmp_path, cases).edit([peru_fact()])
    assert len(path) == 1 and path[0].stat().st_mtime_ns == stamp
    assert torch.equal(first.deltas[0].matrix(), edit.deltas[0].matrix())  # type: ignore[index]
    with pytest.raises(UserError, match="mend: there is no trained file for this model and these options; train one"):
        Mend(Mend.Params(), tiny, Cache(tmp_path)).edit([peru_fact()])


def test_edits_add_up_and_scale(tiny: LM, cases: list[Case], tmp_path: Path) -> None:
    method, other = (
        trained(tiny, tmp_path, cases),
        peru_fact("f/n", subject=Entity(text="Norway"), new=Object(text="Quito")),
    )
    both, each = method.edit([peru_fact(), other]), method.edit_each([peru_fact(), other])
    for a, *some in zip(both.deltas or (), *(e.deltas or () for e in each), strict=True):
        assert torch.allclose(a.matrix(), sum(b.matrix() for b in some), atol=1e-6)
    method.train(cases, name="t", out=tmp_path / "m.safetensors")
    record = {"checkpoint": str(tmp_path / "m.safetensors")}
    double = make_editor("mend", tiny, Cache(tmp_path), {**record, "scale": 2.0}).edit([peru_fact()])
    single = make_editor("mend", tiny, Cache(tmp_path), record).edit([peru_fact()])
    for a, b in zip(double.deltas or (), single.deltas or (), strict=True):
        assert torch.allclose(a.matrix(), 2 * b.matrix(), atol=1e-6)


def test_a_checkpoint_knows_its_model_and_its_cases(cases: list[Case], tmp_path: Path) -> None:
    lm, out = make("llama"), tmp_path / "m.safetensors"
    Mend(Mend.Params(**QUICK), lm, Cache(tmp_path)).train(cases, name="theirs", out=out)
    with pytest.raises(UserError, match="trained for another model"):
        make_editor("mend", make("gpt2"), Cache(tmp_path), {"checkpoint": str(out)}).edit([peru_fact()])
    (tmp_path / "noise").write_bytes(b"nothing")
    with pytest.raises(DataError, match="noise: not a file of this program"):
        make_editor("mend", lm, Cache(tmp_path), {"checkpoint": str(tmp_path / "noise")}).edit([peru_fact()])
    split = tmp_path / "split.jsonl"
    write_split(make_split("evaluated", [make_case("Norway"), make_case("Elsewhere")]), split)
    choice = {"mend": {"name": "mend", "params": {"checkpoint": str(out)}}}
    config = make_config(tmp_path / "run", split={"file": str(split)}, editors=choice)
    with pytest.raises(UserError, match=r"editors.mend: it learnt from theirs, which shares the subject 'Norway'"):
        execute(config)  # before a model is loaded
    assert not (tmp_path / "run").exists()
    training_data = Mend.training_data({"checkpoint": str(out)})
    assert training_data is not None and "norway" in training_data.subjects and "t/1" in training_data.keys
    assert Mend.wants_support({"checkpoint": None}) and not Mend.wants_support({"checkpoint": str(out)})


def test_the_shipped_network_learnt_nothing_of_the_open_split(tmp_path: Path) -> None:
    from curation.shipped import open_release
    from evaluation.editors.checkpoints import SHIPPED
    from evaluation.editors.presets import preset
    from evaluation.runs.refusals import refuse_overlap

    checkpoint = preset("mend", "embedded")["checkpoint"]
    assert checkpoint.startswith(SHIPPED) and Mend.checkpoint_path(checkpoint).stat().st_size < 5_000_000
    training_data = Mend.training_data({"checkpoint": checkpoint})
    assert training_data is not None and len(training_data.subjects) > 500
    refuse_overlap(training_data, open_release(), where="mend")  # no refusal
    subject = sorted(training_data.subjects)[0]
    with pytest.raises(UserError, match="it learnt from shipped, which shares the subject"):
        refuse_overlap(training_data, make_split("other", [make_case(subject)]), where="mend")
    with pytest.raises(UserError, match="trained for another model"):
        make_editor("mend", make("llama"), Cache(tmp_path), {"checkpoint": checkpoint}).edit([peru_fact()])
