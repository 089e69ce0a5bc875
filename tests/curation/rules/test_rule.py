"""What decides about an item, and which of a cluster of near-duplicates stays."""

from __future__ import annotations

import random
import tomllib
from pathlib import Path

import pytest

from curation.overlap.near_duplicates import near_duplicates, store_items
from curation.rules.explain import Explainer, explain
from curation.rules.rule import SplitRule
from curation.rules.selection import Ruling, SelectionStream
from curation.splits.versions import Errata, Erratum
from curation.store.store import Store
from schemas.core.config import validate
from schemas.core.errors import DataError
from schemas.core.records import Record
from schemas.facts import Entity, Fact, Neighbour
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.verdicts import Verdict
from tests.support import ROOT
from tests.support.curation.rule_outcomes import MEASURED, agrees, choose, kept, like
from tests.support.curation.rule_records import (
    BESIDE,
    CHAINS,
    EDIT,
    LINK,
    OTHER,
    P0,
    P1,
    Q0,
    Q1,
    Q2,
    S0,
    ann,
    chain,
    said,
)
from tests.support.facts import peru_fact


def lea(item: str, label: str) -> Verdict:
    return ann(item, label, "lea", task="filter_adjudicated@1")


def bound(**fields: object) -> dict[str, object]:
    return {"thresholds": [{"check": "near", **fields}]}


UP = {"people": "majority"}
CASES = [
    ("value above max", [said(P0.id, "near@1", value=0.5)], bound(max=0.4), "12"),
    ("value at max stays", [said(P0.id, "near@1", value=0.4)], bound(max=0.4), "012"),
    ("value at below is out", [said(P0.id, "near@1", value=0.4)], bound(below=0.4), "12"),
    ("value under min", [said(P0.id, "near@1", value=0.1)], bound(min=0.2), "12"),
    ("hold", [said(P0.id, "near@1", value=0.5)], bound(max=0.4, then="hold"), "12"),
    ("value without a threshold says nothing", [said(P0.id, "near@1", value=0.5)], {}, "012"),
    ("the threshold replaces the label", [said(P0.id, "near@1", "drop", value=0.3)], bound(max=0.4), "012"),
    ("a label without a value stands", [said(P0.id, "near@1", "drop")], bound(max=0.4), "12"),
    ("other model", [said(P0.id, "near@1", value=0.5, model="a")], bound(max=0.4, model="b"), "012"),
    ("that model", [said(P0.id, "near@1", value=0.5, model="b")], bound(max=0.4, model="b"), "12"),
    ("labels of other models", [said(P0.id, "known@1", "drop", model="a")], {"models": {"known": "b"}}, "012"),
    ("labels of that model", [said(P0.id, "known@1", "drop", model="b")], {"models": {"known": "b"}}, "12"),
    ("not measured", [said(P0.id, "near@1", value=0.1), said(P1.id, "near@1", value=0.1)],
     bound(max=0.4, kind="prompt", missing="hold"), "01"),
    ("not measured, but a person keeps", [ann(P0.id, "keep")], bound(max=0.4, kind="prompt", missing="drop"), "0"),
    ("only these checks", [said(P0.id, "a@1", "drop"), said(P1.id, "b@1", "drop")], {"checks": ["b"]}, "02"),
    ("only this version", [said(P0.id, "a@1", "drop"), said(P1.id, "a@2", "drop")], {"checks": ["a@1"]}, "12"),
    ("ignored version", [said(P0.id, "a@1", "drop"), said(P1.id, "a@2", "drop")], {"ignore": ["a@1"]}, "02"),
    ("a newer keep replaces a drop", [said(P0.id, "a@9", "drop"), said(P0.id, "a@10", "keep")], {}, "012"),
    ("a newer drop replaces a keep", [said(P0.id, "a@2", "keep"), said(P0.id, "a@10", "drop")], {}, "12"),
    ("unscored held", [said(P0.id, "a@1", "unscored")], {"unscored": "hold"}, "12"),
    ("unscored dropped", [said(P0.id, "a@1", "unscored")], {"unscored": "drop"}, "12"),
    ("any: one drop", [ann(P0.id, "keep"), ann(P0.id, "keep", "bob"), ann(P0.id, "drop", "eve")], {}, "12"),
    ("majority keeps", [ann(P0.id, "keep"), ann(P0.id, "keep", "bob"), ann(P0.id, "drop", "eve")], UP, "012"),
    ("majority drops", [ann(P0.id, "drop"), ann(P0.id, "keep", "bob"), ann(P0.id, "drop", "eve")], UP, "12"),
    ("a tie is held", [ann(P0.id, "keep"), ann(P0.id, "drop", "bob")], {**UP, "unsure": "keep"}, "12"),
    ("one vote a person", [ann(P0.id, "drop"), ann(P0.id, "drop", task="other@1"), ann(P0.id, "keep", "bob"),
                           ann(P0.id, "keep", "eve")], UP, "012"),
    ("people outrank a threshold", [said(P0.id, "near@1", value=0.5), ann(P0.id, "keep")], bound(max=0.4), "012"),
    ("a person's newer task", [ann(P0.id, "drop"), ann(P0.id, "keep", task="filter@2")], {}, "012"),
    ("a lead keeps what people drop", [ann(P0.id, "keep"), ann(P0.id, "drop", "bob"), lea(P0.id, "keep")], {}, "012"),
    ("a lead drops what people keep", [ann(P0.id, "keep"), ann(P0.id, "keep", "bob"), lea(P0.id, "drop")], UP, "12"),
    ("a lead decides a tie", [ann(P0.id, "keep"), ann(P0.id, "drop", "bob"), lea(P0.id, "keep")], UP, "012"),
    ("a lead decides where the rule names the task", [ann(P0.id, "drop"), lea(P0.id, "keep")],
     {"checks": ["filter"]}, "012"),
    ("a lead keeps, a check that counts drops", [said(P0.id, "a@1", "drop"), lea(P0.id, "keep")],
     {"people_outrank": False}, "12"),
    ("a lead overrules people where checks count", [said(P0.id, "a@1", "keep"), ann(P0.id, "drop"),
     lea(P0.id, "keep")], {"people_outrank": False}, "012"),
    ("of leads who decide under two tasks the more severe counts", [lea(P0.id, "keep"),
     ann(P0.id, "drop", "max", task="screen_adjudicated@1")], {}, "12"),
    ("person unsure", [ann(P0.id, "unsure")], {}, "12"),
]  # fmt: skip


@pytest.mark.parametrize(("verdicts", "rule", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_thresholds_and_people(store: Store, verdicts: list[Verdict], rule: dict[str, object], expected: str) -> None:
    store.put(verdicts)
    parsed_rule = SplitRule.model_validate(rule)
    assert kept(store, parsed_rule) == expected
    agrees(store, parsed_rule, records=(P0,))


def test_a_unit_that_is_not_the_thresholds(store: Store) -> None:
    store.put([said(P0.id, "near@1", value=0.5, unit="cosine")])
    with pytest.raises(DataError, match="threshold on 'near' is in rouge1_f, this verdict's value is in cosine"):
        choose(store, SplitRule.model_validate(bound(max=0.4, unit="rouge1_f")))
    store.put([said(P1.id, "near@1", value=0.5)])
    with pytest.raises(DataError, match="near"):
        choose(store, SplitRule.model_validate(bound(max=0.4)))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (bound(), "no bound"),
        (bound(max=1, missing="hold"), "needs a kind"),
        (bound(max=1, colour=3), "unknown field"),
        ({"people": "most"}, "people"),
        ({"min_prompts": -1}, "min_prompts: Input should be greater than or equal to 0"),
    ],
)
def test_rules_that_cannot_be(rule: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        validate(SplitRule, rule, where="rule.toml")


def test_a_name_without_verdicts_is_said(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    store.put([said(P0.id, "near_duplicate@1", value=0.5)])
    choose(store, SplitRule(ignore=("near_duplicat",)))
    assert "did you mean 'near_duplicate'" in caplog.text


ERRATA = [
    ("prompt", P0.key, None, "drop", "12"),
    ("held", P0.key, None, "hold", "12"),
    ("note", P0.key, None, "note", "012"),
    ("this content", P0.key, P0.id, "drop", "12"),
    ("corrected since", P0.key, "0" * 20, "drop", "012"),
    ("question", Q1.key, None, "drop", "02"),
    ("fact", EDIT.key, None, "drop", "-"),
    ("case", f"case/{EDIT.key}", EDIT.id, "drop", "-"),
]


@pytest.mark.parametrize(("item", "content", "action", "expected"), [e[1:] for e in ERRATA], ids=[e[0] for e in ERRATA])
def test_errata_outrank_everybody(store: Store, item: str, content: str, action: str, expected: str) -> None:
    store.put([ann(P0.id, "keep")])
    entry = {"item": item, "id": content, "what": "a fault", "action": action, "date": "2026-11-21"}
    errata = Errata([Erratum.model_validate(entry)])
    assert kept(store, SplitRule(), errata) == expected
    agrees(store, SplitRule(), errata, records=(P0,))


def test_the_documented_rule_is_valid_and_decides(alone: Store) -> None:
    path = ROOT / "configs" / "rules" / "scedit.toml"
    rule = SplitRule.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))["rule"])
    alone.put(near_duplicates(store_items(alone), threshold=0.4).verdicts())
    assert kept(alone, rule) == "0"


CLUSTERS = [
    ("the preferred stays", [like(Q1, Q0), like(Q2, Q0)], "0"),
    ("a chain is one cluster", [like(Q2, Q1), like(Q1, Q0)], "0"),
    ("preference need not be the key", [like(Q0, Q2), like(Q1, Q2)], "2"),
    ("both ways: the smaller key", [like(Q1, Q2), like(Q2, Q1)], "01"),
    ("under the threshold", [like(Q1, Q0, 0.3), like(Q2, Q1)], "01"),
    ("the preferred is out itself", [like(Q1, Q0), like(Q2, Q0), said(Q0.id, "a@1", "drop")], "1"),
    ("its prompt is out, the question stands", [like(Q1, Q0), like(Q2, Q0), said(P0.id, "a@1", "drop")], "-"),
    ("a person keeps one of the others", [like(Q1, Q0), like(Q2, Q0), ann(Q2.id, "keep")], "2"),
    ("like something that is gone", [like(Q1, Q1.model_copy(update={"text": "How?"}))], "012"),
    ("a person drops what would stay", [like(Q1, Q0), like(Q2, Q0), ann(Q0.id, "drop")], "1"),
    ("people keep two of one", [like(Q1, Q0), like(Q2, Q0), ann(Q1.id, "keep"), ann(Q2.id, "keep")], "12"),
    ("beside another fact's", [like(Q1, BESIDE[0])], "02"),
]  # fmt: skip


@pytest.mark.parametrize(("verdicts", "expected"), [c[1:] for c in CLUSTERS], ids=[c[0] for c in CLUSTERS])
def test_clusters_keep_a_representative(store: Store, verdicts: list[Verdict], expected: str) -> None:
    store.put(verdicts)
    rule = SplitRule.model_validate(MEASURED)
    assert kept(store, rule) == expected
    agrees(store, rule)


def test_representative_outside_the_split_does_not_count(store: Store) -> None:
    """A near-duplicate of an item that this split does not hold is no loss; as a neighbour's it would be held."""
    far = peru_fact("g/chile", subject=Entity(text="Chile"))
    question, script, prompt = chain(far, 0)
    store.put([far, question, script, prompt, like(Q1, question)])
    rule = SplitRule.model_validate(MEASURED)
    assert kept(store, rule) == "02"
    assert kept(store, rule.model_copy(update={"prefix": "f/"})) == "012"


def test_thresholds_over_measured_near_duplicates(alone: Store) -> None:
    """The verdicts of the near-duplicate search, measured once, serve every threshold above the measured one."""
    alone.put(near_duplicates(store_items(alone), threshold=0.3).verdicts())
    results = {}
    for below in (0.5, 0.8, 0.9):
        rule = {"thresholds": [{"check": "near_duplicate", "below": below, "clusters": True, "unit": "rouge1_f"}]}
        results[below] = kept(alone, SplitRule.model_validate(rule))
    assert results == {0.5: "0", 0.8: "0", 0.9: "012"}


@pytest.mark.parametrize("then", ["drop", "hold"])
def test_what_becomes_of_the_others_and_why(store: Store, then: str) -> None:
    store.put([like(Q1, Q0)])
    rule = {"thresholds": [{**MEASURED["thresholds"][0], "then": then}]}
    settlement = Ruling(store, SplitRule.model_validate(rule)).settled
    assert {i: (d.outcome, d.by, d.reason) for i, d in settlement.items()} == {
        Q1.id: (then, "dup", f"in a cluster with '{Q0.key}', which stays")
    }


def test_what_one_threshold_takes_out_is_out_for_the_next(store: Store) -> None:
    """Q1 goes for Q0; then it cannot stay for Q2, which would go for it alone."""
    store.put([like(Q1, Q0), said(Q2.id, "other@1", None, Q1.id, value=0.9)])
    second = {"check": "other", "max": 0.4, "clusters": True, "unit": "f"}
    both = [*MEASURED["thresholds"], second]
    assert kept(store, SplitRule.model_validate({"thresholds": both})) == "02"
    assert kept(store, SplitRule.model_validate({"thresholds": both[::-1]})) == "0"
    assert kept(store, SplitRule.model_validate({"thresholds": [second]})) == "01"


def test_values_of_other_models_link_nothing(store: Store) -> None:
    store.put([said(Q1.id, "dup@1", None, Q0.id, value=0.9, model="m")])
    rule = {"thresholds": [{**MEASURED["thresholds"][0], "model": "n"}]}
    assert kept(store, SplitRule.model_validate(rule)) == "012"
    assert kept(store, SplitRule.model_validate({"thresholds": [{**rule["thresholds"][0], "model": "m"}]})) == "02"


@pytest.mark.parametrize("out", [S0, Q0, EDIT], ids=["script", "question", "fact"])
def test_a_prompt_stays_only_where_all_it_hangs_on_stays(store: Store, out: object) -> None:
    """P0 is preferred, but what it was cut from is out: its like takes its place (unless the fact itself is out)."""
    store.put([said(P1.id, "dup@1", None, P0.id, value=0.9), said(out.id, "a@1", "drop")])  # type: ignore[attr-defined]
    assert kept(store, SplitRule.model_validate(MEASURED)) == ("-" if out is EDIT else "12")


def test_facts_are_clustered_in_scope_or_as_neighbours(store: Store) -> None:
    far = peru_fact("z/far", subject=Entity(text="Larco Museum of Lima"))
    store.put([far, said(far.id, "dup@1", None, OTHER.id, value=0.9)])
    rule = SplitRule.model_validate({**MEASURED, "prefix": "z/"})
    assert far.id in Ruling(store, rule).settled, "the neighbour of another edit is seen too"
    store.put([said(LINK.id, "unrelated@1", "keep")])
    only_temporal = SplitRule.model_validate({**MEASURED, "changes": ["temporal"]})
    assert far.id not in Ruling(store, only_temporal).settled, "nobody looks at it, so nothing is taken out"


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
            whole = choose(store, rule, errata=errata)
            choice = SelectionStream(store, rule, errata=errata, block=2)
            assert list(choice) == whole.cases
            assert choice.counts == whole.counts


@pytest.mark.parametrize("seed", range(4))
def test_explaining_reads_one_cluster_and_says_what_all_clusters_say(tmp_path: Path, seed: int) -> None:
    records, _ = made_store(random.Random(100 + seed))
    rule = SplitRule.model_validate(RULES[7])
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put(records)
        keys = {p.key for case in choose(store, rule).cases for p in case.prompts}
        many = Explainer(store, rule, many=True)
        for record in records:
            if isinstance(record, ScriptPrompt):
                explanation = explain(store, rule, record.key)
                assert many.reason(record.key) == (explanation.status, explanation.why)
                is_neighbour = "as a neighbour" in explanation.why
                assert (explanation.status == "in" and not is_neighbour) == (record.key in keys), explanation.text()


def test_losses_are_counted_by_reason(store: Store) -> None:
    store.put([said(Q0.id, "leak@1", "drop"), said(P1.id, "early_cut@1", "unsure")])
    store.put([said(CHAINS[2][1].id, "format@1", "drop")])
    counts = choose(store, SplitRule()).counts
    assert counts["prompt: dropped by leak"] == 1
    assert counts["prompt: held by early_cut"] == 1
    assert counts["fact: too few prompts"] == 1
    assert counts["cases"] == 1, "the neighbour fact is a case of its own"
