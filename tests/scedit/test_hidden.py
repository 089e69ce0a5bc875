"""A user's own folder in the place of one of ours is named, and costs nothing where there is none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT


def start(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    text = f"import sys; sys.path[:0] = ['', {str(ROOT)!r}]; {code}"
    return subprocess.run([sys.executable, "-c", text], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("name", ["evaluation", "schemas"])
def test_a_package_or_file_that_hides_ours_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text("")
    ended = start(tmp_path, "import scedit")
    assert ended.stderr.splitlines()[-1].startswith("ImportError:")
    assert f"{name}.py hides the toolkit's package '{name}'" in ended.stderr
    (tmp_path / f"{name}.py").unlink()
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("")
    assert f"/{name} hides the toolkit's package '{name}'" in start(tmp_path, "import scedit").stderr


def test_a_folder_of_data_with_the_name_of_a_package_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "evaluation").mkdir()
    ended = start(tmp_path, "import scedit; print(len(scedit.load_split('mini').cases))")
    assert ended.returncode == 0 and int(ended.stdout) == 44


def test_importing_it_loads_nothing_heavy(tmp_path: Path) -> None:
    heavy = "{'torch', 'transformers', 'duckdb', 'openai', 'pandas', 'pydantic', 'streamlit', 'scipy'}"
    assert start(tmp_path, f"import scedit; print(sorted({heavy} & set(sys.modules)))").stdout == "[]\n"
