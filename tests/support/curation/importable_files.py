"""Small files to import."""

from __future__ import annotations

import json
from pathlib import Path

SHORT = {"subject": "Peru", "relation": "P36", "prompt": "The capital of {} is", "old": "Lima", "new": "Oslo"}


def write(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows))
    return path
