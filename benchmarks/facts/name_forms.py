"""How many of CounterFact's objects have derived names, and what finding them adds to an import.

    python -m benchmarks.facts.name_forms      (from the repository root)

The CounterFact files lie in ../shared/data/counterfact (or SCEDIT_SHARED). Both times are processor seconds, taken in
one run, in turn, and the middle one of five is given: reading the records, and reading them with all forms of both
objects.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections import Counter
from pathlib import Path

from construction.mentions import name_forms as forms
from construction.mentions.spelling import is_common
from curation.loaders import load
from schemas.facts import Fact

FILES = ("counterfact-edit.json", "counterfact-train.json", "counterfact-val.json")
REPEATS = 5


def folder() -> Path:
    """Where the CounterFact files lie."""
    return Path(os.environ.get("SCEDIT_SHARED", "../shared")) / "data" / "counterfact"


def facts() -> list[Fact]:
    """All facts of the three files."""
    return [fact for name in FILES for fact in load(str(folder() / name)).facts]


def with_forms(table: list[Fact]) -> int:
    """Go through all objects with nothing remembered; returns how many forms there are."""
    forms._forms.cache_clear()
    forms._index.cache_clear()
    objects = ((o, f.relation) for f in table for o in (f.old, f.new) if o is not None)
    return sum(len(forms.name_forms(o, relation)) for o, relation in objects)


def main() -> None:
    """Print the counts and the times as JSON."""
    plain, both = [], []
    for _ in range(REPEATS):
        start = time.process_time()
        table = facts()
        plain.append(time.process_time() - start)
        start = time.process_time()
        table = facts()
        with_forms(table)
        both.append(time.process_time() - start)
    olds = [{f.kind for f in forms.name_forms(fact.old, fact.relation)} for fact in table]
    texts = {o.text for f in table for o in (f.old, f.new) if o is not None}
    kinds = Counter(kind for kinds_of in olds for kind in kinds_of)
    result = {
        "facts": len(table),
        "old_objects_with_derived_names": sum(bool(kinds_of & {"derived", "made"}) for kinds_of in olds),
        "old_objects_with_a_form": sum(bool(kinds_of) for kinds_of in olds),
        "kinds": dict(sorted(kinds.items())),
        "objects": len(texts),
        "objects_that_are_common_words": sum(is_common(t) and t[0].isupper() for t in texts),
        "seconds_import": round(statistics.median(plain), 3),
        "seconds_import_and_forms": round(statistics.median(both), 3),
        "times": round(statistics.median(both) / statistics.median(plain), 3),
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
