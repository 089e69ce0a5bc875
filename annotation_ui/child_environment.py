"""The environment of programs that we start: what they need to run, our packages, and no key or token."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

NEEDED = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "TEMP", "TMP", "PYTHONPATH", "PYTHONUTF8",
    "PYTHONIOENCODING", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "LANG", "LANGUAGE", "SYSTEMROOT",
    "OMP_NUM_THREADS", "SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
)  # fmt: skip
_SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")


def child_environment(*prefixes: str, variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables that a child gets; our packages come before what is on its path.

    Args:
        prefixes: Beginnings of names that are passed on too, such as ``STREAMLIT_``; never one that names a secret.
        variables: Instead of this process's own environment.

    Example:
        >>> variables = {"PATH": "/bin", "OPENAI_API_KEY": "x", "APP_A": "1", "APP_TOKEN": "x"}
        >>> sorted(child_environment("APP_", variables=variables))
        ['APP_A', 'PATH', 'PYTHONPATH']
    """
    given = os.environ if variables is None else variables
    packages = [str(Path(__file__).resolve().parents[1]), given.get("PYTHONPATH", "")]

    def passes(name: str) -> bool:
        harmless = name.startswith(("LC_", *prefixes)) and not any(word in name.upper() for word in _SECRET)
        return harmless or name in NEEDED

    passed = {k: v for k, v in given.items() if passes(k)}
    return passed | {"PYTHONPATH": os.pathsep.join(filter(None, packages))}
