"""One GPU for thirty minutes, ten minutes a command, no network: what to run, in sections that go on where they ended.

    python -m benchmarks.gpu_day pack --out .gpu                       beforehand: tokenizer and facts, a few MB
    python -m benchmarks.gpu_day ceilings --out day                    what the card can do: copies, products
    python -m benchmarks.gpu_day correctness --out day --pack .gpu     tiny models, card against CPU
    python -m benchmarks.gpu_day gpt2-xl --precision tf32 --out day --pack .gpu       float32, tf32 or bfloat16
    python -m benchmarks.gpu_day llama-3-8b --out day --pack .gpu      bfloat16, made on the card
    python -m benchmarks.gpu_day gpt2-xl --only rome,ft --out day      some of the steps
    python -m benchmarks.gpu_day gpt2-xl --small --out day             a tiny shape: does everything run, on a CPU too?

Weights are random and of the real shapes. Every step's result is written to DIR/SECTION.json as soon as it is there;
the same command again does the steps that are missing. A step that fails is one of the results. No step is begun after
``--minutes``. ``processor_share`` is near 1 on a card, for which the program waits in a loop. torch, transformers,
numpy, safetensors, pydantic and the installed package's list of methods (its ``.egg-info``) are enough; without peft
the steps of lora say so.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch

from benchmarks.support.day_models import SHAPES, build
from benchmarks.support.day_steps import METHODS, ModelSteps
from curation.files.artifact_cache import Cache
from evaluation.engines.environment import environment
from evaluation.models.devices import free_memory

Step = Callable[[], dict[str, Any]]


class Day(NamedTuple):
    """What a command is told: where results go, what was packed, how long, how much."""

    out: Path
    pack: Path | None = None
    precision: str | None = None
    small: bool = False
    cases: int = 512
    plain: int = 4
    minutes: float = 9.0
    only: tuple[str, ...] = ()
    cudnn: bool = False

    @property
    def device(self) -> str:
        return "cuda" if torch.cuda.is_available() else "cpu"


def _card(about: dict[str, Any]) -> str:
    """What a section's results were measured on."""
    environment = about["environment"]
    return str((environment["accelerator"] or {}).get("name") or environment["device"])


class Record:
    """A section's results in one file, written after every step."""

    def __init__(self, path: Path, setting: dict[str, Any]) -> None:
        self.path, self.data = path, {"about": setting, "steps": {}}
        if path.is_file():
            stored = json.loads(path.read_text(encoding="utf-8"))
            if stored["about"]["asked"] != setting["asked"]:
                raise SystemExit(f"{path} holds another measurement ({stored['about']['asked']}): name another --out")
            if (first := _card(stored["about"])) != _card(setting):
                raise SystemExit(f"{path} was begun on another device ({first}): name another --out")
            self.data = stored

    def run(self, steps: dict[str, Step], minutes: float) -> dict[str, Any]:
        """Do what is missing until the time is up."""
        start, done = time.monotonic(), self.data["steps"]
        for name, step in steps.items():
            if name in done and "error" not in done[name]:
                continue
            if time.monotonic() - start > 60 * minutes:
                print(f"{name}: not begun, the {minutes:g} minutes are up; run the same command again", file=sys.stderr)
                continue
            begun = time.monotonic()
            try:
                done[name] = step()
            except Exception as error:  # noqa: BLE001 - a step that fails is a result; the next ones are measured all the same
                traceback.print_exc(file=sys.stderr)
                done[name] = {"error": f"{type(error).__name__}: {error}"}
            free_memory()
            done[name]["seconds"] = round(time.monotonic() - begun, 2)
            self._write()
            print(f"{name}: {json.dumps(done[name])}", file=sys.stderr, flush=True)
        return self.data

    def _write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.data, indent=1) + "\n", encoding="utf-8")
        part.replace(self.path)


def run(section: str, day: Day) -> dict[str, Any]:
    """One section: its results so far."""
    precision = day.precision or SHAPES.get(section, SHAPES["gpt2-xl"]).precision
    name = f"{section}-{precision}" if section in SHAPES else section
    setting: dict[str, Any] = {"section": name, "small": day.small, "cases": day.cases, "plain": day.plain}
    setting |= {"cudnn_attention": True} if day.cudnn else {}
    record = Record(day.out / f"{name}.json", {"asked": setting, "environment": environment(day.device)})
    if section == "ceilings":
        return record.run(ceilings(day), day.minutes)
    if section == "correctness":
        return record.run(correctness(day), day.minutes)
    wanted = [name for name in ModelSteps.names(section) if not day.only or name in day.only]
    if all("error" not in record.data["steps"].get(n, {"error": 1}) for n in wanted):
        return record.data
    _set_precision(precision, cudnn=day.cudnn)
    with tempfile.TemporaryDirectory() as folder:
        lm = build(section, device=day.device, precision=precision, small=day.small, pack=day.pack)
        steps = ModelSteps(
            section, lm, Cache(Path(folder)), small=day.small, cases=day.cases, plain=day.plain, pack=day.pack,
            methods=[name for name in METHODS if name in wanted],
        )  # fmt: skip
        steps.ceiling = measured_ceiling(day.out, precision)
        return record.run({name: step for name, step in steps.all().items() if name in wanted}, day.minutes)


def _set_precision(precision: str, *, cudnn: bool = False) -> None:
    """As loading a model does; ``cudnn``: with cuDNN's attention, which that leaves out."""
    torch.backends.cuda.enable_cudnn_sdp(cudnn)
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")


def measured_ceiling(out: Path, precision: str) -> float | None:
    """Tera-FLOP/s of a large product, as the section ``ceilings`` measured it."""
    path = out / "ceilings.json"
    steps = json.loads(path.read_text(encoding="utf-8"))["steps"] if path.is_file() else {}
    ceiling: float | None = steps.get(f"product {precision}", {}).get("tera_flops_a_second")
    return ceiling


def ceilings(day: Day) -> dict[str, Step]:
    """Bytes copied and products made in a second, by precision."""
    size, times = (256, 2) if day.small else (8192, 20)

    def waited(work: Callable[[], Any]) -> float:
        work()
        start = time.perf_counter()
        for _ in range(times):
            out = work()
        out.flatten()[:1].tolist()  # waits
        return (time.perf_counter() - start) / times

    def product(precision: str) -> dict[str, Any]:
        _set_precision(precision)
        dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
        a = torch.randn(size, size).to(day.device, dtype)
        seconds = waited(lambda: a @ a)
        return {"tera_flops_a_second": round(2 * size**3 / seconds / 1e12, 4), "size": size}

    def copy() -> dict[str, Any]:
        a = torch.zeros(size * size, device=day.device)
        return {"gb_a_second": round(2 * a.numel() * 4 / waited(a.clone) / 1e9, 2)}

    steps: dict[str, Step] = {"copy": copy}
    for one in ("float32", "tf32", "bfloat16"):
        steps[f"product {one}"] = lambda one=one: product(one)  # type: ignore[misc]
    return steps


def correctness(day: Day) -> dict[str, Step]:
    """Tiny shapes on the card against the CPU: answers after edits of every method, in float32 and bfloat16."""
    steps: dict[str, Step] = {}
    for shape in SHAPES:
        for precision in ("float32", "bfloat16"):

            def compare(shape: str = shape, precision: str = precision) -> dict[str, Any]:
                _set_precision(precision)
                answers = []
                for device in ("cpu", day.device):
                    with tempfile.TemporaryDirectory() as folder:
                        lm = build(shape, device=device, precision=precision, small=True, pack=day.pack)
                        model_steps = ModelSteps(
                            shape, lm, Cache(Path(folder)), small=True, cases=2, plain=1, pack=day.pack
                        )
                        answers.append(model_steps.answers_of_all())
                return _gaps(*answers)

            steps[f"{shape} {precision}"] = compare
    return steps


def _gaps(here: dict[str, list[float] | str], there: dict[str, list[float] | str]) -> dict[str, Any]:
    """The largest gap of every method; a method that failed on either device is named, and the step is done again."""
    out: dict[str, Any] = {}
    for name, one in here.items():
        other = there[name]
        if isinstance(one, str) or isinstance(other, str):
            out["error"] = f"{name}: {one if isinstance(one, str) else other}"
        else:
            out[name] = {"largest_gap_nats": round(max(abs(a - b) for a, b in zip(one, other, strict=True)), 6)}
    return out


def pack(out: Path, *, tokenizer: str, count: int = 1024) -> int:
    """Write what the card's machine needs beside this checkout; returns its bytes."""
    from benchmarks.support.workload import facts
    from evaluation.models.loading import load_tokenizer

    out.mkdir(parents=True, exist_ok=True)
    load_tokenizer(tokenizer).save_pretrained(out / "tokenizer")
    wanted, which = facts(count)
    lines = [fact.model_dump_json() for fact in wanted]
    (out / "facts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(f"{which}; {size / 1e6:.1f} MB in {out}", file=sys.stderr)
    if size > 20e6:
        shutil.rmtree(out)
        raise SystemExit(f"the pack has {size / 1e6:.0f} MB, more than 20: use a smaller tokenizer")
    return size


def main(words: list[str] | None = None) -> dict[str, Any]:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", choices=["pack", "ceilings", "correctness", *SHAPES])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pack", type=Path, help="folder that the section pack wrote; else the embedded model's files")
    parser.add_argument("--precision", choices=["float32", "tf32", "bfloat16"])
    parser.add_argument("--small", action="store_true", help="a tiny shape")
    parser.add_argument("--cases", type=int, default=512, help="two groups of 256")
    parser.add_argument("--plain", type=int, default=4, help="cases done the plain way as well")
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--only", default="", help="steps of a model's section by name, with commas; else all of them")
    parser.add_argument("--cudnn-attention", action="store_true", help="leave it to be chosen, to compare")
    parser.add_argument("--tokenizer", default="embedded", help="for pack: folder or hub name")
    options = parser.parse_args(words)
    only = tuple(name for name in options.only.split(",") if name)
    if unknown := set(only) - set(ModelSteps.names(options.section)):
        parser.error(f"no such step: {', '.join(sorted(unknown))}; there are {', '.join(ModelSteps.names(''))}")
    if options.section == "pack":
        return {"bytes": pack(options.out, tokenizer=options.tokenizer)}
    return run(
        options.section,
        Day(
            options.out,
            options.pack,
            options.precision,
            options.small,
            options.cases,
            options.plain,
            options.minutes,
            only,
            options.cudnn_attention,
        ),
    )


if __name__ == "__main__":
    print(json.dumps(main(), indent=1))
