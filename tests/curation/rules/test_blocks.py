"""A rule in blocks gives what the whole store in memory gives, on made stores with everything that can go wrong."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from curation.rules.explain import explain
from curation.rules.rule import SplitRule
from curation.rules.selection import SelectionStream, choose
from curation.splits.versions import Errata, Erratum
from curation.store.store import Store
from schemas.core.records import Record
from schemas.facts import Entity, Fact, Neighbour
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from tests.support.curation.rule_records import ann, said
from tests.support.curation.slow.rules import slow_choose
from tests.support.facts import peru_fact

RULES = [
    {},
    {"prefix": "a/"},
    {"min_prompts": 2, "min_neighbours": 1},
    {"unsure": "keep", "unscored": "hold", "people": "majority"},
    {"ignore": ["leak"], "people_outrank": False},
    {"checks": ["leak@1", "size", "filter"], "thresholds": [{"check": "size", "min": 2, "then": "hold"}]},
    {"models": {"early": "gpt2"}, "people": "majority", "unsure": "keep"},
    {"thresholds": [{"check": "near", "max": 0.5, "clusters": True}]},
    {
        "prefix": "a/",
        "thresholds": [
            {"check": "near", "below": 0.4, "clusters": True},
            {"check": "like", "max": 0.6, "clusters": True, "then": "hold"},
            {"check": "size", "max": 3, "kind": "prompt", "missing": "hold"},
        ],
    },
]


def made_store(rng: random.Random) -> tuple[list[Record], list[str]]:
    """Facts that are each other's neighbours, prompts of absent facts, questions asked from elsewhere."""
    keys = [f"{rng.choice('ab')}/{n:02d}" for n in range(rng.randint(1, 14))]
    facts: list[Fact] = []
    for key in keys:
        change = rng.choice(["counterfactual", "counterfactual", "temporal", "none"])
        more = {"new": None} if change == "none" else {}
        facts.append(peru_fact(key, subject=Entity(text=f"S {key}"), change=change, **more))
    out: list[Record] = list(facts)
    questions: list[ScriptQuestion] = []
    for n in range(rng.randint(0, 30)):
        of = rng.choice([*keys, "a/absent"])
        question = ScriptQuestion(key=f"{of}/q{n}", fact=of, text=f"How to visit {n}?")
        script = Script(key=f"{question.key}/s", question=question.key, steps=("Pack", "Go"))
        questions.append(question)
        out += [question, *([script] if rng.random() < 0.8 else [])]
        for k in range(rng.randint(0, 2)):
            details = of if rng.random() < 0.9 else rng.choice(keys)
            requests = question.key if rng.random() < 0.9 else rng.choice(questions).key
            text = f"How to visit {n} {k}"
            cut = ScriptPrompt(key=f"{script.key}/p{k}", fact=details, question=requests, script=script.key, text=text,
                               offset=len(text) + 1, targets=("Lima",))  # fmt: skip
            out.append(cut)
    for n in range(rng.randint(0, 12)):
        edit, neighbour = rng.choice(keys), rng.choice([*keys, "absent"])
        out.append(Neighbour(key=f"n/{n}", edit=edit, fact=neighbour, how="same_object"))
    ids = [r.id for r in out]
    texts = [r.id for r in out if r.kind != "neighbour"]
    links = [r.id for r in out if r.kind == "neighbour"]
    verdicts: list[Record] = []
    for _ in range(rng.randint(0, 40)):
        item = rng.choice(ids)
        by, label = rng.choice(["leak@1", "leak@2", "early@1"]), rng.choice(["keep", "drop", "unsure", "unscored"])
        verdicts.append(said(item, by, label))
        verdicts.append(said(item, rng.choice(["leak@1", "leak@2"]), rng.choice(["keep", "drop"])))
        verdicts.append(said(rng.choice(texts), "near@1", None, rng.choice(texts), value=rng.random()))
        verdicts.append(said(rng.choice(texts), "like@1", None, rng.choice(texts), value=rng.random()))
        verdicts.append(said(rng.choice(ids), "size@1", value=float(rng.randint(1, 5)), unit="words"))
        item = rng.choice(ids)
        for person in rng.sample(["ann", "bob", "eve"], 2):
            label, task = rng.choice(["keep", "drop", "unsure"]), rng.choice(["filter@1", "quality@1"])
            verdicts.append(ann(item, label, person, task))
        if links and rng.random() < 0.3:
            verdicts.append(said(rng.choice(links), "pair@1", "drop", rng.choice(ids)))
    return [*out, *rng.sample(verdicts, rng.randint(0, len(verdicts)))], [r.key for r in out]


@pytest.mark.parametrize("seed", range(5))
def test_blocks_of_any_size_give_what_the_whole_store_gives(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    records, keys = made_store(rng)
    errata = Errata([Erratum(item=rng.choice(keys), what="wrong", date="2026-01-01")] if seed % 3 == 0 else [])
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put(records)
        for case in [r for r in choose(store, SplitRule()).cases if rng.random() < 0.3]:
            store.put([ann(case.id, rng.choice(["drop", "unsure"]), task="quality@1")])
        for rule in (SplitRule.model_validate(r) for r in RULES):
            slow = slow_choose(store, rule, errata=errata)
            for block in (2, 2000):
                choice = SelectionStream(store, rule, errata=errata, block=block)
                assert list(choice) == slow.cases
                assert choice.counts == slow.counts


@pytest.mark.parametrize("seed", range(4))
def test_explaining_reads_one_cluster_and_says_what_all_clusters_say(tmp_path: Path, seed: int) -> None:
    records, _ = made_store(random.Random(100 + seed))
    rule = SplitRule.model_validate(RULES[7])
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put(records)
        keys = {p.key for case in slow_choose(store, rule).cases for p in case.prompts}
        for record in records:
            if isinstance(record, ScriptPrompt):
                explanation = explain(store, rule, record.key)
                is_neighbour = "as a neighbour" in explanation.why
                assert (explanation.status == "in" and not is_neighbour) == (record.key in keys), explanation.text()
