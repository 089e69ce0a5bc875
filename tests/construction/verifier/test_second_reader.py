from __future__ import annotations

import json
from collections import Counter

from curation.store.store import Store
from tests.support.construction import authored
from tests.support.construction.authored import many, run
from tests.support.scripted_server import ScriptedServer

facts = authored.facts


def test_a_second_reader_drops_what_leaks_and_another_candidate_comes(tmp_path, facts):
    def answer(payload):
        system, user = payload["messages"][0]["content"], payload["messages"][-1]["content"]
        if payload["model"] != "reader":
            return many(payload)
        if '"quotes"' in system:
            return json.dumps({"why": "x", "quotes": ["a friend"] if "cook a soup" in user else []})
        return json.dumps({"why": "x", "same": "yes" if "parcel" in user else "no"})

    with ScriptedServer(answer) as server:
        funnel = run(facts, tmp_path / "o", server, "--questions", 2, "--candidates", 8, "--verify", "reader")
    assert funnel["kept"] == 4
    with Store.open(tmp_path / "o/s.duckdb") as store:
        counts = Counter((v.check, v.label) for v in store.verdicts() if v.model == "reader")
        stages = Counter(x.stage for x in store.lineages())
    assert counts["verify_leak", "keep"] == 4
    assert stages["verify"] == sum(counts.values())
