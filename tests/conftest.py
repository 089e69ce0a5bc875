"""Fixtures that all tests share: small facts, and where the shared test data lies."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from schemas.facts import Fact
from tests.support.facts import peru_fact

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

if "PYTEST_XDIST_WORKER" in os.environ:  # the process that hands out tests collects none, so nothing would end this
    gc.disable()  # while modules are imported there is no garbage, and looking for it takes a third of the time
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # tests need no hub, and do not wait for one that is not there


def _cache_of_their_own() -> None:
    """A cache folder for this session and its processes, gone at its end; only converted models are the user's own.

    A converted model is large and the same for everybody. A folder that SCEDIT_CACHE names is used as it is.
    """
    from curation.files.model_packages import cache_dir

    models = cache_dir() / "models"
    folder, owner = Path(tempfile.mkdtemp(prefix="scedit-tests-")), os.getpid()
    with contextlib.suppress(OSError):  # a home that nobody may write to: models are converted anew
        models.mkdir(parents=True, exist_ok=True)
        (folder / "models").symlink_to(models.resolve(), target_is_directory=True)
    os.environ["SCEDIT_CACHE"] = str(folder)
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == owner else None)


if "SCEDIT_CACHE" not in os.environ:
    _cache_of_their_own()

# A busy machine is no fault of an example: neither a deadline nor the time that its making took fails a test.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

_ROOT = Path(__file__).resolve().parent.parent


# Workers of Ray would get what other tests leave of the processors: minutes instead of seconds.
os.environ.setdefault("RAY_worker_niceness", "0")

LONGEST = (
    "docs/test_tutorial.py",
    "annotation_ui/label_studio/test_server.py",
    "annotation_ui/browser/test_forms.py",
    "annotation_ui/browser/test_pages.py",
    "annotation_ui/browser/test_keys.py",
    "evaluation/cli/test_demo.py",
    "evaluation/runs/distributed/test_ray_engine.py",
    "construction/scenarios/test_killed.py",
    "docs/test_rating_page.py",
    "evaluation/scenarios/test_parity.py",
)
"""Files that take minutes, the longest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files begin first (``make test-slow``), so that at the end no worker is left alone with one."""
    places = {name: place for place, name in enumerate(LONGEST)}
    folder = Path(__file__).parent

    def place(item: pytest.Item) -> int:
        path = item.path.relative_to(folder) if item.path.is_relative_to(folder) else item.path
        return places.get(path.as_posix(), len(LONGEST))

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """Garbage is collected from here on, and never looked for among what the imports left."""
    gc.enable()
    gc.freeze()


def pytest_unconfigure() -> None:
    """At the end all garbage counts again, or libraries take what is left for a leak."""
    gc.unfreeze()


def shared_folder() -> Path | None:
    """The folder of real test data: SCEDIT_SHARED, or ../shared beside the repository."""
    location = os.environ.get("SCEDIT_SHARED")
    folder = Path(location) if location else _ROOT.parent / "shared"
    return folder if (folder / "data").is_dir() else None


@pytest.fixture(scope="session")
def shared() -> Path:
    folder = shared_folder()
    if folder is None:
        pytest.skip("the shared test data is not here (set SCEDIT_SHARED)")
    return folder


@pytest.fixture
def peru() -> Fact:
    return peru_fact()


@pytest.fixture(scope="session")
def embedded() -> LM:
    """SmolLM2-135M in float32 on the CPU, from the user's cache folder (converted there on first use)."""
    from curation.files.model_packages import embedded_gguf
    from evaluation.models.language_model import LM
    from schemas.core.errors import ModelError

    try:
        embedded_gguf()
    except ModelError as error:
        pytest.skip(f"the embedded model is not here: {error}")
    return LM.load("embedded", device="cpu")
