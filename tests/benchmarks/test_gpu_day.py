"""The day with a card, rehearsed with tiny shapes on the CPU and on a fake GPU; resumed; what travels."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.fake_device import fake_gpu
from tests.support.tiny import tokenizer

gpu_day = pytest.importorskip("benchmarks.gpu_day", reason="benchmarks are not shipped")


@pytest.fixture
def pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Facts and a tokenizer, from the shipped facts."""
    monkeypatch.setenv("SCEDIT_SHARED", str(tmp_path / "none"))
    tokenizer(False).save_pretrained(tmp_path / "tok")
    assert gpu_day.main(["pack", "--out", str(tmp_path / "pack"), "--tokenizer", str(tmp_path / "tok")])["bytes"] < 20e6
    return tmp_path / "pack"


def measure(section: str, out: Path, pack: Path, *more: str) -> dict[str, Any]:
    words = [section, "--small", "--cases", "2", "--plain", "1", "--out", str(out), "--pack", str(pack), *more]
    steps: dict[str, Any] = gpu_day.main(words)["steps"]
    return steps


@pytest.mark.slow
def test_a_section_on_the_cpu_is_written_as_it_goes_and_resumed(pack: Path, tmp_path: Path) -> None:
    out = tmp_path / "day"
    assert measure("gpt2-xl", out, pack, "--minutes", "0") == {}, "nothing is begun when the time is up"
    ceilings = measure("ceilings", out, pack)
    assert set(ceilings) == {"copy", "product float32", "product tf32", "product bfloat16"}
    measurements = measure("gpt2-xl", out, pack)
    assert not [s["error"] for s in measurements.values() if "error" in s]
    assert {"covariances", "factors", "scoring", "generation", "sequential", "repeat"} < set(measurements)
    for name in ("rome", "memit", "alphaedit", "ft", "lora"):
        assert measurements[name]["failed"] == 0 and measurements[name]["share_of_measured_ceiling"] > 0, measurements[
            name
        ]
    gaps = {name: measurements[name]["largest_gap_nats"] for name in ("rome", "memit", "ft")}
    assert max(gaps.values()) < 1e-3, f"edits of the plain way answer otherwise: {gaps}"
    assert measurements["rome"]["ratio"] > 0 and measurements["ft"]["minutes_for_1830_cases"] > 0
    for mode in ("as_it_is", "fixed_order"):
        assert all(measurements["repeat"][mode][name]["equal"] for name in gaps), measurements["repeat"]
    path = out / "gpt2-xl-float32.json"
    data = json.loads(path.read_text())
    del data["steps"]["generation"]
    data["steps"]["factors"] = {"error": "broken off"}
    path.write_text(json.dumps(data))
    repeat = measure("gpt2-xl", out, pack)
    assert repeat["scoring"] == measurements["scoring"], "done once"
    assert repeat["generation"]["tokens"] and "error" not in repeat["factors"]
    with pytest.raises(SystemExit, match="holds another measurement"):
        measure("gpt2-xl", out, pack, "--cases", "3")


def test_some_of_the_steps_alone(pack: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(measure("gpt2-xl", tmp_path, pack, "--only", "ft,scoring")) == {"ft", "scoring"}
    assert set(measure("gpt2-xl", tmp_path, pack, "--only", "generation")) == {"ft", "scoring", "generation"}
    assert not torch.backends.cuda.cudnn_sdp_enabled(), "as loading leaves it"
    assert measure("gpt2-xl", tmp_path / "planned", pack, "--only", "scoring", "--cudnn-attention")
    assert torch.backends.cuda.cudnn_sdp_enabled()
    with pytest.raises(SystemExit):
        measure("gpt2-xl", tmp_path, pack, "--only", "ft,walking")
    assert "no such step: walking; there are covariances, factors, scoring, rome" in capsys.readouterr().err


@pytest.mark.slow
def test_without_peft_lora_alone_is_missing_and_is_done_again(
    pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_day, "SHAPES", {"gpt2-xl": gpu_day.SHAPES["gpt2-xl"]})
    monkeypatch.setitem(sys.modules, "peft", None)
    step = measure("correctness", tmp_path, pack)["gpt2-xl float32"]
    assert "lora: the package 'peft' is not installed" in step["error"].replace("MissingPackage: ", "")
    assert {"rome", "memit", "alphaedit", "ft"} < set(step) and step["ft"]["largest_gap_nats"] == 0
    monkeypatch.delitem(sys.modules, "peft")
    step = measure("correctness", tmp_path, pack)["gpt2-xl float32"]
    assert "error" not in step and step["lora"]["largest_gap_nats"] == 0


def test_another_card_has_a_file_of_its_own(pack: Path, tmp_path: Path) -> None:
    measure("ceilings", tmp_path, pack)
    with fake_gpu(), pytest.raises(SystemExit, match=r"was begun on another device \(cpu\): name another --out"):
        measure("ceilings", tmp_path, pack)


@pytest.mark.slow
def test_rehearsed_on_a_fake_gpu_in_bfloat16(pack: Path, tmp_path: Path) -> None:
    with fake_gpu() as machine:
        measurements = measure("llama-3-8b", tmp_path, pack, "--precision", "bfloat16")
    assert not machine.counts.refused and not [s["error"] for s in measurements.values() if "error" in s]
    assert measurements["ft"]["peak_gib"] > 0 and measurements["ft"]["reserved_gib"] >= measurements["ft"]["peak_gib"]
    assert measurements["ft"]["failed"] == 0 and len(measurements["ft"]["free_gib_at_each_group"]) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("section", "precision"), [("gpt2-xl", "tf32"), ("correctness", "bfloat16")])
def test_every_section_on_a_fake_gpu(section: str, precision: str, pack: Path, tmp_path: Path) -> None:
    with fake_gpu() as machine:
        measurements = measure(section, tmp_path, pack, "--precision", precision)
    assert not machine.counts.refused and not [s["error"] for s in measurements.values() if "error" in s]
    if section == "correctness":
        for name, step in measurements.items():
            # Eight bits of a bfloat16 logit near 8 are 0.03 nats, and processors round products in different orders.
            tolerance = 0.1 if name.endswith("bfloat16") else 1e-3
            gaps = [value["largest_gap_nats"] for value in step.values() if isinstance(value, dict)]
            assert len(gaps) == 5 and max(gaps) < tolerance, (name, gaps)
