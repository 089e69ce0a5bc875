from __future__ import annotations

from pathlib import Path

import pytest

from curation.loaders import detect


@pytest.mark.parametrize("name", ["wikifactdiff/readme_samples.json", "elken/serac_routing.jsonl"])
def test_what_is_no_facts_is_refused(shared: Path, name: str) -> None:
    with pytest.raises(Exception, match="not a known shape"):
        detect(shared / "data" / name)
