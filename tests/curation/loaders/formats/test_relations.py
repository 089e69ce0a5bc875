from __future__ import annotations

import json
from pathlib import Path

from curation.loaders import load
from schemas.extras import Extra
from tests.support.curation.published_records import kinds, of


def test_relation_lists(tmp_path: Path) -> None:
    samples = [("Peru", "Lima"), ("Peru", "Cusco"), ("Peru", "Lima"), ("Chad", " N'Djamena ")]
    data = {
        "name": "capital", "prompt_templates": ["{} has", "The capital of {} is"], "prompt_templates_zs": ["What?"],
        "properties": {"symmetric": False}, "samples": [{"subject": s, "object": o} for s, o in samples],
    }  # fmt: skip
    path = tmp_path / "capital.json"
    path.write_text(json.dumps(data, indent=2))
    import_result = load(path)
    assert [f.old.text for f in import_result.facts] == ["Lima", "Cusco", "N'Djamena"]
    assert import_result.facts[0].paraphrases == ("The capital of Peru is",) and import_result.facts[0].change == "none"
    assert kinds(import_result) == ["contradictory", "duplicate"]
    assert [p.where for p in import_result.problems] == [f"{path}, sample 2", f"{path}, sample 3"]
    assert of(import_result, Extra)[0].value == {k: v for k, v in data.items() if k != "samples"}


def test_all_relation_lists(shared: Path) -> None:
    files = sorted((shared / "data" / "relations" / "factual").glob("*.json"))
    import_result = [load(path) for path in files]
    assert len(files) == 21
    assert sum(len(x.facts) + sum(p.lost for p in x.problems) for x in import_result) == 5809
