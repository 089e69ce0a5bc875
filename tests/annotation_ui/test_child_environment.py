"""Programs that we start run, and know no secret of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from annotation_ui.child_environment import child_environment

SECRETS = {
    "OPENAI_API_KEY": "sk-1", "AWS_SECRET_ACCESS_KEY": "s", "HF_TOKEN": "h", "LABEL_STUDIO_API_KEY": "l",
    "GITHUB_TOKEN": "g", "STREAMLIT_SERVER_COOKIE_SECRET": "c", "DATABASE_URL": "postgres://me:pw@x",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)


def test_the_rating_app_gets_no_secret_and_still_runs() -> None:
    env = child_environment("STREAMLIT_")
    assert not set(SECRETS) & set(env) and not set(SECRETS.values()) & set(env.values())
    process = subprocess.run([sys.executable, "-c", "import annotation_ui"], env=env, cwd="/", capture_output=True)
    assert process.returncode == 0, process.stderr


def test_locale_and_path_are_passed_on() -> None:
    variables = {"LC_ALL": "C.UTF-8", "PATH": "p", "lc_all": "x", "FOO_A": "1", "FOO_PASSWORD": "2", "BAR": "3"}
    assert set(child_environment(variables=variables)) == {"LC_ALL", "PATH", "PYTHONPATH"}
    assert set(child_environment("FOO_", variables=variables)) == {"LC_ALL", "PATH", "FOO_A", "PYTHONPATH"}


def test_our_packages_come_before_what_is_on_the_path() -> None:
    first, second = child_environment(variables={"PYTHONPATH": "/elsewhere"})["PYTHONPATH"].split(os.pathsep)
    assert (Path(first) / "annotation_ui").is_dir() and second == "/elsewhere"
    assert child_environment(variables={})["PYTHONPATH"] == first, "an empty entry would be the working folder"
