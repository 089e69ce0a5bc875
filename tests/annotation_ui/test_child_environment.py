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


def test_locale_and_path_are_passed_on_and_our_packages_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {"LC_ALL": "C.UTF-8", "PATH": "p", "lc_all": "x", "FOO_A": "1", "FOO_PASSWORD": "2", "BAR": "3"}
    monkeypatch.setattr(os, "environ", variables)
    assert set(child_environment()) == {"LC_ALL", "PATH", "PYTHONPATH"}
    assert set(child_environment("FOO_")) == {"LC_ALL", "PATH", "FOO_A", "PYTHONPATH"}
    ours = child_environment()["PYTHONPATH"]
    assert (Path(ours) / "annotation_ui").is_dir(), "an empty entry would be the working folder"
    variables["PYTHONPATH"] = "/elsewhere"
    assert child_environment()["PYTHONPATH"] == f"{ours}{os.pathsep}/elsewhere"
