"""Run the benchmarks and write their results, with machine and versions: python benchmarks/run.py [NAME ...]."""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

from schemas.core.clock import now

HERE = Path(__file__).parent
NAMES = ("speed", "store")


def machine() -> dict[str, object]:
    """What the timings were taken on."""
    packages = ("torch", "transformers", "duckdb", "numpy")
    return {
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{p: version(p) for p in packages},
        "at": now("minutes"),
    }


def write(name: str, result: object, *, around: dict[str, object] | None = None) -> None:
    """Keep a result with the machine that it was taken on."""
    path = HERE / "results" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    text = json.dumps({"machine": around or machine(), "result": result}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")
    print(f"{path.relative_to(HERE.parent)}: {json.dumps(result)}")


def main(names: list[str]) -> None:
    sys.path.insert(0, str(HERE.parent))
    for name in names or NAMES:
        around = machine()
        write(name, importlib.import_module(f"benchmarks.{name}").main(), around=around)


if __name__ == "__main__":
    main(sys.argv[1:])
