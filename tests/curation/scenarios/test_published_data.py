"""Every published shape: what becomes of its fields, what is kept beside, what is said of defects."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from curation.loaders import LOADERS, Loaded, detect, load
from curation.loaders.formats.scedit import cut
from curation.loaders.sources import UPSTREAM
from curation.store.store import Store
from schemas.extras import Extra
from schemas.facts import Fact, Neighbour
from schemas.scripts import ScriptPrompt, ScriptQuestion

ZSRE = {
    "subject": "UniFirst", "src": "What is made by UniFirst?", "pred": "uniform", "rephrase": "What makes UniFirst?",
    "alt": "aircraft", "answers": ["uniform", "uniforms"], "loc": "nq question: x", "loc_ans": "y",
    "cond": "uniform >> aircraft || What is made by UniFirst?",
}  # fmt: skip
WFD: dict[str, Any] = {
    "subject": {"id": "Q668", "label": "India", "description": "country"},
    "relation": {"id": "P35", "label": "head of state", "description": None},
    "update_prompt": "India's head of state is ____",
    "generalization_prompts": ["The president of India is ____.", "____ is the president of India"],
    "subject_is_ph_new": False, "relation_is_temp_func": True, "is_replace": True, "subject_popularity": 0.5,
    "objects": [
        {"id": "Q2", "label": "Droupadi Murmu", "description": None, "decision": "new"},
        {"id": "Q1", "label": "Ram Nath Kovind", "description": None, "decision": "obsolete"},
    ],
    "neighborhood": [
        {
            "subject": {"id": "Q837", "label": "Nepal", "description": None},
            "objects": [{"object": {"id": "Q3", "label": "Ram Paudel"}, "prompt": "Nepal has ____"}],
            "dist": 0.25,
        }
    ],
}  # fmt: skip
EDIT = {
    "prompt": "{} was performed by", "relation_id": "P175", "target_new": {"str": "Madonna", "id": "Q1744"},
    "target_true": {"str": "The Beatles", "id": "Q1299"}, "subject": "Hey Jude", "question": "Who performed Hey Jude?",
}  # fmt: skip
CF: dict[str, Any] = {
    "case_id": 5, "prompt": "The Eiffel Tower is in", "ground_truth": "Paris", "target_new": "Rome",
    "subject": "Eiffel Tower", "rephrase_prompts": ["How to go?\nStep 1: Walk\nStep 2: Fly to"],
    "neighborhood_prompts": ["How to see the Louvre?\nStep 1: Go to ("], "interrupt_step": [2], "property": "location",
}  # fmt: skip
T: dict[str, Any] = {
    "case_id": 0, "subject": "Chad", "relation": "head of state", "prompt": "Chad is led by", "old_update": "Idriss",
    "new_update": "Mahamat", "question": ["How to meet the leader of Chad? Step 1: Go Step 2: Greet"],
    "neighborhood": [{"object": "Biya", "prompt": "Cameroon is led by", "question": "How to greet?\nStep 1: Call"}],
}  # fmt: skip


def one(tmp_path: Path, *data: object, name: str = "f.json", format: str | None = None) -> Loaded:
    path = tmp_path / name
    lines = [json.dumps(d) for d in data]
    path.write_text("\n".join(lines) if name.endswith("jsonl") else "[\n" + ",\n".join(lines) + "\n]")
    return load(path, format)


def of(loaded: Loaded, kind: type[Any]) -> list[Any]:
    return [r for r in loaded.records if isinstance(r, kind)]


def new_of(fact: Fact) -> str:
    assert fact.new is not None
    return fact.new.text


def kinds(loaded: Loaded) -> list[str]:
    return [p.kind for p in loaded.problems]


def test_zsre(tmp_path: Path) -> None:
    loaded = one(tmp_path, ZSRE, {**ZSRE, "src": "Who is UniFirst?", "alt": "Uniforms"}, {**ZSRE, "pred": "x"})
    fact = loaded.facts[0]
    assert (fact.prompt, fact.old.names, new_of(fact)) == ("What is made by {}?", ("uniform", "uniforms"), "aircraft")
    assert kinds(loaded) == ["invalid", "duplicate", "contradictory", "suspect"]
    assert of(loaded, Extra)[0].value == {"pred": "uniform", "loc": "nq question: x", "loc_ans": "y"}
    assert len(loaded.facts) == 1


def test_mquake_keeps_an_edit_once_and_the_case_whole(tmp_path: Path) -> None:
    first = {"case_id": 1, "requested_rewrite": [EDIT, {**EDIT, "subject": "Yesterday"}], "answer": "x"}
    clash = {**EDIT, "target_new": {"str": "Sony", "id": "Q41187"}}
    loaded = one(tmp_path, first, {"case_id": 2, "requested_rewrite": [EDIT, clash]}, {**first, "answer": "y"})
    assert loaded.format == "mquake" and len(loaded.facts) == 3
    extras = of(loaded, Extra)
    assert extras[0].value == first
    assert [extras[0].of, *extras[0].also] == [f.key for f in loaded.facts[:2]]
    assert extras[1].of == loaded.facts[0].key
    assert kinds(loaded) == ["contradictory", "duplicate"]
    assert "into 'Madonna', this one into 'Sony'" in loaded.problems[0].what


def test_wikifactdiff(tmp_path: Path) -> None:
    loaded = one(tmp_path, WFD, name="f.jsonl")
    fact, beside, link = loaded.facts[0], of(loaded, Fact)[0], of(loaded, Neighbour)[0]
    assert (fact.prompt, fact.old.text, new_of(fact)) == ("{}'s head of state is", "Ram Nath Kovind", "Droupadi Murmu")
    assert (fact.change, fact.old.wikidata, fact.paraphrases) == ("temporal", "Q1", ("The president of India is",))
    assert (beside.subject.text, beside.change, beside.prompt) == ("Nepal", "none", "{} has")
    assert (link.how, link.distance, link.edit, link.fact) == ("near_subject", 0.25, fact.key, beside.key)
    kept = of(loaded, Extra)[0].value
    assert kept["subject_popularity"] == 0.5 and kept["other_prompts"] == ["____ is the president of India"]
    assert kept["descriptions"][0] == "country" and not loaded.problems


def changed(**changes: object) -> dict[str, Any]:
    return {**json.loads(json.dumps(WFD)), **changes}


def test_wikifactdiff_distance_in_either_place_and_equal_objects(tmp_path: Path) -> None:
    near = json.loads(json.dumps(WFD["neighborhood"][0]))
    del near["dist"]
    near["objects"][0]["dist"] = 3
    near["objects"][0]["object"]["label"] = "Ram Nath Kovind"
    near["objects"].append({"object": {"id": "Q9", "label": "B"}, "prompt": "Nepal has ____"})
    loaded = one(tmp_path, changed(neighborhood=[near, {"subject": {"id": "Q7", "label": "X"}, "objects": []}]))
    link = of(loaded, Neighbour)[0]
    assert (link.distance, link.how) == (3.0, "same_object")
    assert [e.name for e in of(loaded, Extra)] == ["fields", "neighbour_objects"]
    assert kinds(loaded) == ["suspect"] and len(loaded.facts) == 1


LITERALS = [
    ("Date", "+2021-01-04", "2021-01-04", "date"),
    ("Year", "2021", "2021", "year"),
    ("Quantity", "+5", "+5", "quantity"),
    ("a person", "Joe", "Joe", "entity"),
]


@pytest.mark.parametrize(("description", "label", "text", "datatype"), LITERALS, ids=[c[0] for c in LITERALS])
def test_wikifactdiff_literals(tmp_path: Path, description: str, label: str, text: str, datatype: str) -> None:
    objects = [{"label": label, "description": description, "decision": "new"}, WFD["objects"][1]]
    new = one(tmp_path, changed(objects=objects)).facts[0].new
    assert new is not None and (new.text, new.datatype, new.wikidata) == (text, datatype, None)


ODD_WFD = [
    ("static", {"objects": [*WFD["objects"], {**WFD["objects"][0], "decision": "static"}]}, ["contradictory", "left"]),
    ("told no replacement", {"is_replace": False}, ["contradictory"]),
    ("gap in the middle", {"update_prompt": "____ leads India", "generalization_prompts": []}, ["malformed"]),
    ("subject not there", {"update_prompt": "It is ____", "generalization_prompts": []}, ["malformed"]),
    ("unknown decision", {"objects": [{**WFD["objects"][0], "decision": "x"}]}, ["malformed"]),
    ("equal objects", {"objects": [WFD["objects"][0], {**WFD["objects"][0], "decision": "obsolete"}]}, ["invalid"]),
    ("only new", {"objects": WFD["objects"][:1], "is_replace": False}, ["left"]),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "problems"), [c[1:] for c in ODD_WFD], ids=[c[0] for c in ODD_WFD])
def test_wikifactdiff_oddities(tmp_path: Path, changes: dict[str, Any], problems: list[str]) -> None:
    loaded = one(tmp_path, changed(**changes))
    assert kinds(loaded) == problems
    assert len(loaded.facts) == (problems == ["contradictory"])


def test_scedit_cf(tmp_path: Path) -> None:
    loaded = one(tmp_path, CF)
    fact, (near,) = loaded.facts[0], of(loaded, Fact)
    own, other = of(loaded, ScriptPrompt)
    assert (fact.key, fact.prompt, fact.relation.id) == ("scedit-cf/5", "The {} is in", "location")
    assert (own.text, own.separator, own.step, own.targets) == (CF["rephrase_prompts"][0], " ", 2, ("Paris", "Rome"))
    assert [q.text for q in of(loaded, ScriptQuestion)] == ["How to go?", "How to see the Louvre?"]
    assert own.question == of(loaded, ScriptQuestion)[0].key
    assert (other.text, other.separator) == ("How to see the Louvre?\nStep 1: Go to", " (")
    assert near.fact_prompt == other.text and near.old == fact.old and other.fact == near.key
    assert of(loaded, Neighbour)[0].how == "same_object" and not of(loaded, Extra)
    (told,) = loaded.problems
    assert told.kind == "left" and "1 record: a neighbour is published without its subject" in told.what


TOLERATED = [
    ("step is a number", {"interrupt_step": 2}, 2, set()),
    ("step is text", {"interrupt_step": "Step 3:"}, 3, set()),
    ("step not understood", {"interrupt_step": {"a": 1}}, 2, {"interrupt_step"}),
    ("another number of steps", {"interrupt_step": [1, 2, 3]}, 2, {"interrupt_step"}),
    ("property not understood", {"property": ["a"]}, 2, {"property"}),
    ("unknown field", {"note": "x"}, 2, {"note"}),
    ("older name", {"rephrase_prompts": None, "rephrase_prompt": CF["rephrase_prompts"]}, 2, set()),
    ("template", {"prompt": "The {} is in"}, 2, set()),
]


@pytest.mark.parametrize(("changes", "step", "kept"), [c[1:] for c in TOLERATED], ids=[c[0] for c in TOLERATED])
def test_scedit_cf_is_tolerant(tmp_path: Path, changes: dict[str, Any], step: int, kept: set[str]) -> None:
    data = {k: v for k, v in {**CF, **changes}.items() if v is not None}
    loaded = one(tmp_path, data, format="scedit-cf")
    assert kinds(loaded) == ["left"] and loaded.facts[0].prompt == "The {} is in"
    assert of(loaded, ScriptPrompt)[0].step == step
    assert {name for e in of(loaded, Extra) for name in e.value} == kept


def test_scedit_ids_that_repeat_or_lack_lose_nothing(tmp_path: Path) -> None:
    lacking = {k: v for k, v in CF.items() if k != "case_id"}
    loaded = one(tmp_path, CF, CF, lacking)
    assert [f.key for f in loaded.facts] == ["scedit-cf/5", "scedit-cf/1-of-file", "scedit-cf/2"]
    assert kinds(loaded) == ["suspect", "left"] and len(of(loaded, ScriptPrompt)) == 6


def test_scedit_t(tmp_path: Path) -> None:
    loaded = one(tmp_path, T)
    fact, (near,) = loaded.facts[0], of(loaded, Fact)
    assert (fact.change, fact.old.text, new_of(fact)) == ("temporal", "Idriss", "Mahamat")
    assert (near.subject.text, near.prompt, near.old.text) == ("Cameroon", "{} is led by", "Biya")
    assert of(loaded, Neighbour)[0].how == "near_subject"
    own, other = of(loaded, ScriptPrompt)
    assert (own.step, other.step, other.targets) == (2, 1, ("Biya",))
    assert of(loaded, ScriptQuestion)[0].text == "How to meet the leader of Chad?"
    odd = one(tmp_path, {**T, "neighborhood": ["x"], "sliced_question": ["How? Step 1: A"]}, format="scedit-t")
    assert kinds(odd) == ["suspect"] and of(odd, Extra)[0].value == {"neighborhood_not_understood": ["x"]}
    assert of(odd, ScriptPrompt)[0].text == "How? Step 1: A"


CUTS = [
    ("How?\nStep 1: Go to", "How?", "How?\nStep 1: Go to", " ", 1),
    ("How? Step 1: A Step 12: Go to ", "How?", "How? Step 1: A Step 12: Go to", " ", 12),
    ('How?\nStep 1: Type "', "How?", "How?\nStep 1: Type", ' "', 1),
    ('How?\nStep 1: Type "x"', "How?", 'How?\nStep 1: Type "x"', " ", 1),
    ("How?\nStep 1: Look\n", "How?", "How?\nStep 1: Look", "\n", 1),
    ("No steps here", "No steps here", "No steps here", " ", None),
]


@pytest.mark.parametrize(("text", "question", "before", "separator", "step"), CUTS, ids=[c[0] for c in CUTS])
def test_cut(text: str, question: str, before: str, separator: str, step: int | None) -> None:
    assert cut(text) == (question, before, separator, step)


def test_ripple(tmp_path: Path) -> None:
    query = {"prompt": "The name of the mother of Ann Lee is", "subject_id": "Q5"}
    edit = {
        "prompt": "The gender of Ann Lee is male.", "subject_id": "Q5", "relation": "SEX_OR_GENDER", "target_id": "Q6",
        "original_fact": {"prompt": "The gender of Ann Lee is female.", "target_id": "Q7"},
    }  # fmt: skip
    data = {
        "example_type": "random",
        "edit": edit,
        "Relation_Specifity": [{"test_queries": [query]}],
        "Forgetfulness": [],
    }
    recent = {"example_type": "recent", "edit": {**edit, "original_fact": None}, "Subject_Aliasing": []}
    named = {**edit, "prompt": "The name of the sex or gender of Bo is X.", "original_fact": None}
    loaded = one(tmp_path, data, recent, {"example_type": "recent", "edit": {**named, "subject_id": "Q8"}})
    fact = loaded.facts[0]
    assert (fact.subject.text, fact.prompt, fact.old.text, new_of(fact)) == (
        "Ann Lee",
        "The gender of {} is",
        "female",
        "male",
    )
    assert [e.name for e in of(loaded, Extra)[:2]] == ["edit", "Relation_Specificity"]
    assert of(loaded, Extra)[1].value == data["Relation_Specifity"]
    assert kinds(loaded) == ["malformed", "left"] and "subject cannot be told" in loaded.problems[0].what
    assert (loaded.facts[1].subject.text, loaded.facts[1].old.text, loaded.facts[1].new) == ("Bo", "X", None)


def test_relation_lists(tmp_path: Path) -> None:
    samples = [("Peru", "Lima"), ("Peru", "Cusco"), ("Peru", "Lima"), ("Chad", " N'Djamena ")]
    data = {
        "name": "capital", "prompt_templates": ["{} has", "The capital of {} is"], "prompt_templates_zs": ["What?"],
        "properties": {"symmetric": False}, "samples": [{"subject": s, "object": o} for s, o in samples],
    }  # fmt: skip
    path = tmp_path / "capital.json"
    path.write_text(json.dumps(data, indent=2))
    loaded = load(path)
    assert [f.old.text for f in loaded.facts] == ["Lima", "Cusco", "N'Djamena"]
    assert loaded.facts[0].paraphrases == ("The capital of Peru is",) and loaded.facts[0].change == "none"
    assert kinds(loaded) == ["contradictory", "duplicate"]
    for problem, value in zip(loaded.problems, ("Peru", "Peru"), strict=True):
        line = int(problem.where.rsplit(" ", 1)[1])
        assert value in path.read_text().split("\n")[line]
    assert of(loaded, Extra)[0].value == {k: v for k, v in data.items() if k != "samples"}


COUNTS = [  # file, format, facts, facts that cannot be used, other records by kind
    ("facts_dev.jsonl", "facts-dev", 300, 0, {"fact": 1445, "neighbour": 1858}),
    ("facts_edge_dev.jsonl", "facts-dev", 30, 0, {"extra": 30, "fact": 9, "neighbour": 16}),
    ("counterfact/rome_format_example.json", "counterfact", 1, 0, {"extra": 1}),
    ("known_1000/known_1000.json", "known-1000", 1197, 0, {"extra": 1197}),
    ("mquake/MQuAKE-hard.json", "mquake", 769, 0, {"extra": 429}),
    ("zsre/zsre_mend_train-1k.json", "zsre", 977, 23, {"extra": 977}),
    ("zsre/zsre_mend_eval_portability_gpt4.json", "zsre", 1008, 29, {"extra": 1008}),
    ("knowedit/readme_examples.json", "knowedit", 3, 0, {"extra": 12}),
    ("ripple/readme_example.json", "ripple", 1, 0, {"extra": 2}),
    ("scedit/shape_example_cf.json", "scedit-cf", 1, 0, {"question": 2, "prompt": 2, "fact": 1, "neighbour": 1}),
    ("scedit/shape_example_t.json", "scedit-t", 1, 0, {"question": 2, "prompt": 2, "fact": 1, "neighbour": 1}),
    ("scedit/paper_examples.json", "scedit-paper", 3, 0, {"question": 3, "script": 1, "prompt": 1, "extra": 3}),
    ("wikifactdiff/shape_from_templama.jsonl", "wikifactdiff", 120, 0, {"extra": 120, "fact": 450, "neighbour": 600}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "format", "facts", "lost", "beside"), COUNTS, ids=[c[0] for c in COUNTS])
def test_real_files(shared: Path, name: str, format: str, facts: int, lost: int, beside: dict[str, int]) -> None:
    loaded = load(shared / "data" / name)
    assert (loaded.format, len(loaded.facts), sum(p.lost for p in loaded.problems)) == (format, facts, lost)
    assert Counter(r.kind for r in loaded.records) == beside
    known = {f.key for f in loaded.facts} | {r.key for r in loaded.records}
    for record in loaded.records:
        for parent in ("fact", "edit", "of", "question"):
            key = getattr(record, parent, None)
            assert key is None or key in known or key.startswith("knowedit/passage/")
    assert all(f.source.licence and f.source.name for f in loaded.facts)
    assert set(loaded.places) == {f.key for f in loaded.facts}


def test_all_relation_lists(shared: Path) -> None:
    files = sorted((shared / "data" / "relations" / "factual").glob("*.json"))
    loaded = [load(path) for path in files]
    assert len(files) == 21
    assert sum(len(x.facts) + sum(p.lost for p in x.problems) for x in loaded) == 5809


def test_known_counts_are_checked(shared: Path, tmp_path: Path) -> None:
    told = [p for p in load(shared / "data" / "known_1000" / "known_1000.json").problems if p.kind == "count"]
    assert [p.what for p in told] == ["1,197 records, upstream has 1,209 (12 fewer here)"]
    assert not told[0].lost
    scedit = [p.what for p in one(tmp_path, CF, name="ScEdit-CF.json").problems]
    assert scedit[0] == "1 script prompts, the paper has 7,342" and scedit[-1].startswith(
        "1 records, upstream has 1,830"
    )


def test_all_counterfact_edits_load_quickly(shared: Path) -> None:
    begun = time.process_time()
    names = ("edit", "train", "val")
    count = sum(len(load(shared / "data" / "counterfact" / f"counterfact-{n}.json").facts) for n in names)
    assert count == 21_355
    assert time.process_time() - begun < 10


@pytest.mark.parametrize("name", ["zsre/zsre_mend_train-1k.json", "wikifactdiff/shape_from_templama.jsonl"])
def test_a_cut_copy_says_so_and_gives_its_whole_records(shared: Path, tmp_path: Path, name: str) -> None:
    whole = shared / "data" / name
    path = tmp_path / whole.name
    path.write_bytes(whole.read_bytes()[:50_000])
    loaded = load(path)
    assert "truncated" in kinds(loaded)
    assert loaded.facts == load(whole).facts[: len(loaded.facts)] and len(loaded.facts) > 10
    with pytest.raises(Exception, match="skip-bad"):
        loaded.require()
    assert loaded.require(skip_bad=True)


def test_the_store_keeps_everything(shared: Path, tmp_path: Path) -> None:
    names = ("scedit/shape_example_cf.json", "knowedit/readme_examples.json", "ripple/readme_example.json")
    for n, name in enumerate(names):
        loaded = load(shared / "data" / name)
        with Store.open(tmp_path / f"{n}.duckdb", create=True) as store:
            store.put([*loaded.facts, *loaded.records])
            for record in (*loaded.facts, *loaded.records):
                assert store.get(record.key) == record
            extras = list(store.all(Extra, parent=loaded.facts[0].key))
        assert {e.key for e in extras} == {e.key for e in of(loaded, Extra) if e.of == loaded.facts[0].key}


def test_every_loader_names_its_source() -> None:
    assert list(UPSTREAM) and set(UPSTREAM) == set(LOADERS.names())
    for name in LOADERS.names():
        assert callable(LOADERS.get(name))
        assert UPSTREAM[name].licence and UPSTREAM[name].name


@pytest.mark.parametrize("name", ["elken/train.json", "wikifactdiff/readme_samples.json", "mulfe/mulfe_test.json"])
def test_what_is_no_facts_is_refused(shared: Path, name: str) -> None:
    with pytest.raises(Exception, match="not a known shape"):
        detect(shared / "data" / name)
