"""An erratum changes some prompts: a run on the new version asks those alone, and gives what a whole new run gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from curation.case_sources.opening import choose
from curation.splits.split_file import Split, make_split
from evaluation.runs.cached_answers import NOTE_FILE
from evaluation.runs.results import EditorFolder, load_run
from evaluation.runs.runner import execute
from schemas.core.errors import UserError
from tests.support.arithmetic import answers, go, make_case, make_cases, make_config


def mended(split: Split) -> Split:
    """The split with one script prompt of one case reworded, another case's new object changed, and one more case."""
    cases = list(split.cases)
    prompt = cases[0].prompts[0]
    reworded = prompt.model_copy(update={"text": prompt.text.replace("Fly", "Sail"), "offset": prompt.offset + 1})
    cases[0] = cases[0].model_copy(update={"prompts": (reworded, *cases[0].prompts[1:])})
    fact = cases[1].fact
    new = fact.new_object.model_copy(update={"text": "Bern"})
    prompts = tuple(p.model_copy(update={"targets": (p.targets[0], "Bern")}) for p in cases[1].prompts)
    cases[1] = cases[1].model_copy(update={"fact": fact.model_copy(update={"new": new}), "prompts": prompts})
    return make_split("tiny", [*cases, make_case("Land10"), make_case("Land11")], version="1.0.1")


def by_probe(folder: EditorFolder) -> dict[str, Any]:
    """Everything that time does not change, in no order of asking."""
    return {case: ({a.probe: a for a in given}, *rest) for case, (given, *rest) in answers(folder).items()}


@pytest.fixture
def versions() -> tuple[Split, Split]:
    split = make_cases()
    return split, mended(split)


def test_only_what_changed_is_asked_and_the_answers_are_those_of_a_whole_run(tmp_path, versions):
    before, after = versions
    go(tmp_path / "old", split=before)
    outcomes, lm = go(tmp_path / "new", split=after, answers_from=str(tmp_path / "old"))
    whole, whole_lm = go(tmp_path / "whole", split=after)
    assert {k: by_probe(o.folder) for k, o in outcomes.items()} == {k: by_probe(o.folder) for k, o in whole.items()}
    assert outcomes["push"].manifest == whole["push"].manifest, "where answers are from is no part of a run's identity"
    per_method = len(lm.calls) // 2
    assert len(whole_lm.calls) // 2 == 8 and per_method == 4, "the reworded, the changed and the two new cases"
    asked, all_asked = sorted(len(c) for c in lm.calls), {len(c) for c in whole_lm.calls}
    assert asked[:2] == [1, 1] and set(asked[2:]) == all_asked, "of the reworded case its new prompt alone"


def test_where_they_are_from_stands_beside_them(tmp_path, versions):
    before, after = versions
    old, _ = go(tmp_path / "old", split=before)
    outcomes, _ = go(tmp_path / "new", split=after, answers_from=str(tmp_path / "old"))
    note = json.loads((outcomes["push"].folder.path / NOTE_FILE).read_text())
    assert (note["run"], note["split_digest"]) == (old["push"].manifest.key, before.digest)
    assert note["cases"] == 5 and note["split"] == "tiny@1.0.0"
    runs = {r.run for r in outcomes["push"].folder.results().values()}
    assert runs == {outcomes["push"].manifest.key}, "a result names the run in whose folder it stands"


def test_a_second_start_takes_nothing_twice(tmp_path, versions):
    before, after = versions
    go(tmp_path / "old", split=before)
    first, _ = go(tmp_path / "new", split=after, answers_from=str(tmp_path / "old"))
    kept = {k: (o.folder.journal.read_bytes(), (o.folder.path / NOTE_FILE).read_bytes()) for k, o in first.items()}
    again, lm = go(tmp_path / "new", split=after, answers_from=str(tmp_path / "old"))
    assert lm.calls == []
    assert {
        k: (o.folder.journal.read_bytes(), (o.folder.path / NOTE_FILE).read_bytes()) for k, o in again.items()
    } == kept


def test_a_limit_keeps_the_cases_of_the_earlier_run(tmp_path, versions):
    before, after = versions
    go(tmp_path / "old", split=before, limit=3)
    go(tmp_path / "new", split=after, limit=4, answers_from=str(tmp_path / "old"))
    old, new = load_run(tmp_path / "old"), load_run(tmp_path / "new")
    assert new.cases[:3] == old.cases and len(new.cases) == 4
    assert [c.key for c in choose(after, limit=3)] != list(old.cases), "by itself the new version draws others"
    assert old.about["order"].startswith("drawn from")
    assert new.about["order"] == f"the cases of the earlier run first, the others {old.about['order']}"


def test_another_strength_takes_nothing_over(tmp_path, versions):
    before, after = versions
    go(tmp_path / "old", split=before)
    harder = [{"name": "push", "label": "push", "params": {"strength": 9}}]
    outcomes, _ = go(tmp_path / "new", split=after, editors=harder, answers_from=str(tmp_path / "old"))
    assert outcomes["push"].computed == 8 and not (outcomes["push"].folder.path / NOTE_FILE).exists()
    assert outcomes["none"].resumed + outcomes["none"].computed == 8


def test_a_failed_case_is_done_again(tmp_path, versions):
    before, after = versions
    go(tmp_path / "old", split=before, editors=[{"name": "push", "params": {"fail": ["Land02"]}}])
    outcomes, _ = go(
        tmp_path / "new",
        split=after,
        editors=[{"name": "push", "params": {"fail": ["Land02"]}}],
        answers_from=str(tmp_path / "old"),
    )
    note = json.loads((outcomes["push"].folder.path / NOTE_FILE).read_text())
    assert note["cases"] == 4 and outcomes["push"].failed == 1


def test_an_earlier_run_that_fits_in_nothing_is_refused(tmp_path, versions):
    before, after = versions
    go(tmp_path / "old", split=before, dtype="bfloat16")
    with pytest.raises(UserError, match=r"no method of that run \(none, push\) was set up as .*same model revision"):
        go(tmp_path / "new", split=after, answers_from=str(tmp_path / "old"))


def test_regimes_in_which_edits_build_on_each_other_are_refused(tmp_path, versions):
    before, after = versions
    go(tmp_path / "old", split=before)
    with pytest.raises(ValueError, match="'sequential', where edits build on each other: leave answers_from out"):
        go(
            tmp_path / "new",
            split=after,
            regime={"name": "sequential", "size": [2]},
            answers_from=str(tmp_path / "old"),
        )


def test_a_folder_that_is_no_run_is_refused_before_the_model_is_loaded(tmp_path):
    config = make_config(
        tmp_path / "new", split={"name": "mini"}, editors=["prompt"], answers_from=str(Path("nowhere"))
    )
    config = config.model_copy(update={"model": "a/model/that/is/not/there"})
    with pytest.raises(UserError, match="nowhere: not the folder of a run"):
        execute(config)
