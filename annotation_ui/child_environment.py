"""The environment of programs that we start: what they need to run, our packages, and no key or token."""

from __future__ import annotations

import os
from pathlib import Path

NEEDED = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "TEMP", "TMP", "PYTHONPATH", "PYTHONUTF8",
    "PYTHONIOENCODING", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "LANG", "LANGUAGE", "SYSTEMROOT",
    "OMP_NUM_THREADS", "SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
)  # fmt: skip
_SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")


def child_environment(*prefixes: str) -> dict[str, str]:
    """The variables that a child gets; our packages come before what is on its path.

    Args:
        prefixes: Beginnings of names that are passed on too, such as ``STREAMLIT_``; never one that names a secret.
    """
    packages = [str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")]

    def passes(name: str) -> bool:
        harmless = name.startswith(("LC_", *prefixes)) and not any(word in name.upper() for word in _SECRET)
        return harmless or name in NEEDED

    passed = {k: v for k, v in os.environ.items() if passes(k)}
    return passed | {"PYTHONPATH": os.pathsep.join(filter(None, packages))}
