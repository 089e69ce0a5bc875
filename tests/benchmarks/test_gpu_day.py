"""The day with a card, rehearsed with tiny shapes on the CPU and on a pretended card; resumed; what travels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.pretended_device import pretended
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
    found: dict[str, Any] = gpu_day.main(words)["steps"]
    return found


def test_a_section_on_the_cpu_is_written_as_it_goes_and_resumed(pack: Path, tmp_path: Path) -> None:
    out = tmp_path / "day"
    assert measure("gpt2-xl", out, pack, "--minutes", "0") == {}, "nothing is begun when the time is up"
    ceilings = measure("ceilings", out, pack)
    assert set(ceilings) == {"copy", "product float32", "product tf32", "product bfloat16"}
    found = measure("gpt2-xl", out, pack)
    assert not [s["error"] for s in found.values() if "error" in s]
    assert {"covariances", "factors", "scoring", "generation", "sequential"} < set(found)
    for name in ("rome", "memit", "alphaedit", "ft", "lora"):
        assert found[name]["failed"] == 0 and found[name]["share_of_measured_ceiling"] > 0, found[name]
    assert found["rome"]["ratio"] > 0 and found["ft"]["minutes_for_1830_cases"] > 0
    path = out / "gpt2-xl-float32.json"
    kept = json.loads(path.read_text())
    del kept["steps"]["generation"]
    kept["steps"]["factors"] = {"error": "broken off"}
    path.write_text(json.dumps(kept))
    again = measure("gpt2-xl", out, pack)
    assert again["scoring"] == found["scoring"], "done once"
    assert again["generation"]["tokens"] and "error" not in again["factors"]
    with pytest.raises(SystemExit, match="holds another measurement"):
        measure("gpt2-xl", out, pack, "--cases", "3")


@pytest.mark.slow
def test_rehearsed_on_a_pretended_card_in_bfloat16(pack: Path, tmp_path: Path) -> None:
    with pretended() as machine:
        found = measure("llama-3-8b", tmp_path, pack, "--precision", "bfloat16")
    assert not machine.counts.refused and not [s["error"] for s in found.values() if "error" in s]
    assert found["ft"]["peak_gib"] > 0 and found["ft"]["reserved_gib"] >= found["ft"]["peak_gib"]
    assert found["ft"]["failed"] == 0 and len(found["ft"]["free_gib_at_each_group"]) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("section", "precision"), [("gpt2-xl", "tf32"), ("correctness", "bfloat16")])
def test_every_section_on_a_pretended_card(section: str, precision: str, pack: Path, tmp_path: Path) -> None:
    with pretended() as machine:
        found = measure(section, tmp_path, pack, "--precision", precision)
    assert not machine.counts.refused and not [s["error"] for s in found.values() if "error" in s]
    if section == "correctness":
        assert all(
            gap["largest_gap_nats"] < 1e-3 for step in found.values() for gap in step.values() if isinstance(gap, dict)
        )
