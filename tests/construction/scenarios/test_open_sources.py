"""The sources of the open split pass every check, and the review that says so can fail."""

from __future__ import annotations

import json
from collections import Counter
from functools import lru_cache
from pathlib import Path

import pytest

from construction.pipeline.adopt import adopt
from curation.loaders import load
from schemas.text.mentions import find
from tests.support.construction import open_review as review

FILES = review.sources()
LEAST = 8  # cases a relation

GOOD = """
key = "w/capital"
relation = { id = "P36", label = "capital" }
prompt = "The capital of {} is"
[[cases]]
key = "x"
subject = "Ruritania"
old = "Strelsau"
new = "Oslo"
paraphrases = ["The king of {} lives in", "Whoever governs {} sits in"]
questions = '''
How to visit the congress of Ruritania?
Pack a small bag
Look for a cheap bed
Fly to Strelsau

How can a baker sell rolls to ministers in Ruritania?
Bake four dozen rolls
Count them into baskets
Drive the van to Strelsau

How should an envoy greet the king of Ruritania?
Practise a deep bow
Brush the hat
Walk to the palace in Strelsau

How do spies leave the seat of power of Ruritania?
Burn all maps
Change the shoes
Board the last tram in Strelsau
'''
neighbours = '''
Red Tower | The {} is in the city of
How to climb the Red Tower?
Oil your knees
Eat a banana
Ask the way in Strelsau

Old Mint | The {} is in the city of
How can a coin lover see the Old Mint?
Borrow a lens
Read about silver
Spend a day in Strelsau

Rose Park | The {} is in the city of
How to draw swans in Rose Park?
Sharpen a pencil
Bring stale bread
Meet a tailor in Strelsau
'''
"""


def reviewed(folder: Path, text: str) -> list[review.Problem]:
    path = folder / "w.toml"
    path.write_text(text, encoding="utf-8")
    long = review.too_long([path])
    return long or review.problems(review.collect([path]))


@lru_cache(maxsize=1)
def collection() -> review.Collection:
    return review.collect(FILES)


def test_there_are_sources() -> None:
    assert len(FILES) >= 11 and len({path.stem for path in FILES}) == len(FILES)


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_file_passes_every_check(path: Path) -> None:
    assert review.too_long([path]) == []
    adoption = adopt(path, source=review.SOURCE)
    assert adoption.objections == () and adoption.cases >= LEAST
    assert {v.label for v in adoption.verdicts} == {"keep"}


def test_all_files_together_pass_the_review() -> None:
    assert review.problems(collection()) == []
    assert review.early_share(collection()) <= review.IN_STEP_2 and review.cut_steps(collection())[1] == 0


def test_objects_are_found_nowhere_before_the_cut() -> None:
    """What the checks say, once more and independently; and what is asked for is the old object against the new one."""
    all_ = collection()
    assert len(all_.prompts) == len(all_.questions) == 7 * len(all_.edits)
    for prompt in all_.prompts:
        fact = all_.facts[prompt.fact]
        assert not find(prompt.text, fact.old), prompt.text
        assert prompt.targets[0] in fact.old.names, prompt.targets
        assert fact.new is None or (prompt.targets[1] == fact.new.text and not find(prompt.text, fact.new)), prompt.text


def test_new_objects_and_relations_are_spread() -> None:
    edits = collection().edits
    assert min(Counter(fact.relation.id for fact in edits).values()) >= LEAST
    new = Counter(fact.new_object.text for fact in edits)
    assert max(new.values()) <= 4, new.most_common(3)
    assert all(fact.relation.id[0] == "P" and fact.relation.id[1:].isdigit() for fact in edits)


def test_subjects_of_counterfact_are_reported(shared: Path) -> None:
    folder = shared / "data" / "counterfact"
    reference = set()
    for name in ("edit", "train", "val"):
        path = folder / f"counterfact-{name}.json"
        if not path.is_file():
            pytest.skip(f"{path} is not there")
        reference |= {name for row in json.loads(path.read_text()) for name in (row["subject"].casefold(),)}
    both = sorted(
        f.subject.text for f in collection().edits if {name.casefold() for name in f.subject.names} & reference
    )
    assert (review.FOLDER / "counterfact_subjects.txt").read_text(encoding="utf-8").splitlines() == both


def test_the_review_of_a_good_case_finds_nothing(tmp_path: Path) -> None:
    assert reviewed(tmp_path, GOOD) == []


TEMPORAL = 'kind = "temporal"\n' + GOOD.replace(
    'new = "Oslo"', 'new = "Oslo"\nold_time = "1890/1957"\nnew_time = "1958/.."'
).replace("Red Tower | The {} is in the city of", "Red Tower | The {} is in the city of | Zenda").replace(
    "Ask the way in Strelsau", "Ask the way in Zenda"
)


def test_neighbours_of_a_temporal_case_have_their_own_objects(tmp_path: Path) -> None:
    problems = reviewed(tmp_path, TEMPORAL)
    assert [p.check for p in problems] == ["neighbour", "neighbour"]  # those that still are in Strelsau


def shipped_subject() -> str:
    return load("shipped").require()[0].subject.text


WRONG = [
    ("a question too few", GOOD.replace(GOOD[GOOD.index("How do spies") : GOOD.index("'''\nneighbours")], ""), "shape"),
    ("a neighbour too few", GOOD[: GOOD.index("Rose Park |")] + "'''", "shape"),
    ("two equal cloze prompts", GOOD.replace("The king of {} lives in", "The capital of {} is"), "cloze"),
    ("no subject in a paraphrase", GOOD.replace("The king of {} lives", "The king lives"), "cloze"),
    ("the object in a paraphrase", GOOD.replace("The king of {} lives in", "Strelsau and {} lie in"), "cloze"),
    ("an article before the cut", GOOD.replace("Fly to Strelsau", "Fly to a Strelsau"), "article_before_cut"),
    ("an early cut", GOOD.replace("Pack a small bag", "Go to Strelsau"), "early_cut@2"),
    ("an object before the cut", GOOD.replace("Brush the hat", "Call Oslo"), "leak_in_prompt@7"),
    ("nothing to cut at", GOOD.replace("Fly to Strelsau", "Fly there"), "no_mention@8"),
    ("no How", GOOD.replace("How to climb", "Where to climb"), "question_form@4"),
    ("another object of a neighbour", GOOD.replace("Red Tower | The {} is in the city of",
     "Red Tower | The {} is in the city of | Zenda").replace("Ask the way in Strelsau", "Ask the way in Zenda"),
     "neighbour"),
    ("two questions alike", GOOD.replace("How can a baker sell rolls to ministers in", "How to visit the senate of"),
     "like_question"),
    ("two scripts alike", GOOD.replace("Borrow a lens\nRead about silver\nSpend a day",
     "Oil your knees\nEat a pear\nAsk the way"), "like_script"),
    ("one step again and again", GOOD.replace("Brush the hat", "Count them into baskets").replace("Change the shoes",
     "Count them into baskets").replace("Eat a banana", "Count them into baskets"), "same_step"),
    ("three scripts begin alike", GOOD.replace("Burn all maps", "Pack a small bag").replace("Oil your knees",
     "Pack a small bag"), "same_first_step"),
    ("a shipped subject", GOOD.replace("Ruritania", "France"), "overlap"),
    ("its own neighbour", GOOD.replace("Red Tower", "Ruritania"), "overlap"),
    ("a temporal case without times", TEMPORAL.replace('old_time = "1890/1957"\nnew_time = "1958/.."', ""), "times"),
    ("a temporal neighbour with the old object", TEMPORAL.replace("Zenda", "Strelsau"), "neighbour"),
    ("a long step", GOOD.replace("Brush the hat", "Brush the hat and the coat and shoes"), "script_format"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "check"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_the_review_finds_what_is_wrong(tmp_path: Path, text: str, check: str) -> None:
    assert text != GOOD and check in {problem.check for problem in reviewed(tmp_path, text)}


def test_the_subject_of_a_shipped_fact_is_an_overlap(tmp_path: Path) -> None:
    problems = reviewed(tmp_path, GOOD.replace("Ruritania", shipped_subject()))
    assert any(p.check == "overlap" and "is a subject of" in p.reason for p in problems)


def test_near_pairs_equal_those_of_all_pairs() -> None:
    """The quick search for likeness against every pair measured by the exact measure."""
    from itertools import combinations

    from curation.similarity.texts import rouge1_f

    all_ = collection()
    items = [(q.fact, q.text, q.text) for q in all_.questions[:150]]
    slow = [(a, b) for a, b in combinations(items, 2) if rouge1_f(a[2], b[2]) >= 0.5]
    assert slow and list(review._near(items, 0.5)) == slow


def test_the_funnel_keeps_each_problem_once(tmp_path: Path) -> None:
    path, one = tmp_path / "funnel.jsonl", review.Problem("w/x", "early_cut@2", "é", "why")
    review.note([one, one], path)
    review.note([one, one._replace(case="w/y")], path)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines == [one._asdict(), one._replace(case="w/y")._asdict()]


def test_the_shipped_funnel_names_checks_and_reasons() -> None:
    lines = (review.FOLDER / "funnel.jsonl").read_text(encoding="utf-8").splitlines()
    assert lines and len(set(lines)) == len(lines)
    for line in lines:
        problem = review.Problem(**json.loads(line))
        assert problem.case and problem.check and problem.reason


def test_no_neighbour_is_an_edited_subject_under_any_name() -> None:
    all_ = collection()
    edited_names = {name for fact in all_.edits for name in fact.subject.compared_names}
    assert all(not all_.facts[link.fact].subject.compared_names & edited_names for link in all_.links)
