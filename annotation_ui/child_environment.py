"""The environment of servers that we start: what a program needs to run, and no key or token of anything else."""

from __future__ import annotations

import os
from collections.abc import Mapping

NEEDED = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "TEMP", "TMP", "PYTHONPATH", "PYTHONUTF8",
    "PYTHONIOENCODING", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "LANG", "LANGUAGE", "SYSTEMROOT",
    "OMP_NUM_THREADS", "SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
)  # fmt: skip
_SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")


def child_environment(*prefixes: str, variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables that a child server gets.

    Args:
        prefixes: Beginnings of names that are passed on too, such as ``STREAMLIT_``; never one that names a secret.
        variables: Instead of this process's own environment.

    Example:
        >>> child_environment("APP_", variables={"PATH": "/bin", "OPENAI_API_KEY": "x", "APP_A": "1", "APP_TOKEN": "x"})
        {'PATH': '/bin', 'APP_A': '1'}
    """

    def passes(name: str) -> bool:
        harmless = name.startswith(("LC_", *prefixes)) and not any(word in name.upper() for word in _SECRET)
        return harmless or name in NEEDED

    return {k: v for k, v in (os.environ if variables is None else variables).items() if passes(k)}
