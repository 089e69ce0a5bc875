from __future__ import annotations

from pathlib import Path

import pytest

from curation.loaders import detect, load
from schemas.core.errors import DataError


@pytest.mark.parametrize("name", ["wikifactdiff/readme_samples.json", "elken/serac_routing.jsonl"])
def test_what_is_no_facts_is_refused(shared: Path, name: str) -> None:
    with pytest.raises(Exception, match="not a known shape"):
        detect(shared / "data" / name)


@pytest.mark.parametrize("bad", ['{"subject": "Peru"}', '{"a": 1}', "{}", "null", '"x"'])
def test_one_bad_record_at_the_beginning_hides_no_format(tmp_path: Path, bad: str) -> None:
    good = '{"subject": "Chile", "relation": "P36", "prompt": "The capital of {} is", "old": "Santiago", "new": "Oslo"}'
    (path := tmp_path / "f.jsonl").write_text(f"{bad}\n{good}\n")
    assert detect(path) == "jsonl"
    result = load(path)
    assert len(result.facts) == 1 and [p.lost for p in result.problems] == [True]


def test_a_file_of_no_known_shape_is_not_read_to_its_end(tmp_path: Path) -> None:
    (path := tmp_path / "g.jsonl").write_text('{"a": 1}\n' * 102 + "\xff")
    with pytest.raises(DataError, match=r"not a known shape of facts \(its first record has a\)"):
        detect(path)
