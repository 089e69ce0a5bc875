"""Arrays of answers: everything comes back, a line is small, and other questions stand apart."""

from __future__ import annotations

import random
from pathlib import Path

from curation.files.journal import Journal
from evaluation.runs.shared_probes.state_answers import FILE, StateAnswers, read_states, to_answers, to_arrays
from schemas.answers import Answer, TargetScore
from tests.support.documents.shared import make_shared


def answered(probe, value: float = -1.25, *, greedy: bool | None = True, **more) -> Answer:
    score = TargetScore(text=probe.targets[0], logprob=value, tokens=2, greedy=greedy)
    return Answer(**{"probe": probe.id, "targets": (score,), **more})


def test_all_of_an_answer_comes_back() -> None:
    probes = make_shared(5).probes
    answers = (
        answered(probes[0]),
        answered(probes[2], -0.1, greedy=False),
        answered(probes[3], greedy=None, truncated=True),
        Answer(probe=probes[4].id, error="too long"),
    )
    arrays = to_arrays("case/a", None, reversed(answers), probes)
    assert (arrays.places, arrays.greedy) == ((0, 2, 3, 4), "10--")
    assert to_answers(arrays, probes) == answers


def test_a_line_of_400_questions_is_small(tmp_path: Path) -> None:
    shared, draw = make_shared(400), random.Random(0)
    with Journal(tmp_path / FILE, write=True) as journal:
        answers = [answered(p, -draw.random() * 9) for p in shared.probes]
        StateAnswers(journal, shared).add("case/a", "case/a", None, answers)
    assert (tmp_path / FILE).stat().st_size <= 30 * 1024
    assert read_states(tmp_path, shared) == {("case/a", None): tuple(answers)}


def test_what_is_missing_and_what_is_tried_again(tmp_path: Path) -> None:
    shared = make_shared(4)
    with Journal(tmp_path / FILE, write=True) as journal:
        states = StateAnswers(journal, shared)
        assert states.missing("s", shared.probes) == shared.probes
        states.add("s", "case/a", 3, [answered(shared.probes[0]), Answer(probe=shared.probes[1].id, error="no")])
    with Journal(tmp_path / FILE, write=True) as journal:
        states = StateAnswers(journal, shared)
        assert states.missing("s", shared.probes) == shared.probes[2:]
        assert states.missing("s", shared.probes, retry=True) == shared.probes[1:]
        assert states.missing("t", shared.probes) == shared.probes
        states.add("s", "case/a", 3, [answered(shared.probes[3])])
        assert states.missing("s", shared.probes) == shared.probes[2:3]
        more = StateAnswers(journal, make_shared(5))
        assert len(more.missing("s", more.probes)) == 5, "other questions"
    assert [len(v) for v in read_states(tmp_path, shared).values()] == [3]
    assert read_states(tmp_path, make_shared(5)) == {} and read_states(tmp_path / "none", shared) == {}
