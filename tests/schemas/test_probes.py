"""Probes are known by what they ask, not by what they are for."""

from __future__ import annotations

import re

import pytest
from pydantic import TypeAdapter, ValidationError

from schemas.probes import GenerateProbe, Probe, ScoreProbe, ThoughtAsked, instructed

SCORE = ScoreProbe(purpose="fact", item="f/1", prompt="The capital of Peru is", targets=("Lima", "Oslo"))

WRITE = GenerateProbe(purpose="script_question", item="q/1", prompt="How to visit Lima?")


@pytest.mark.parametrize("change", [{"purpose": "paraphrase"}, {"item": "f/2"}, {"cluster": "f/3"}])
@pytest.mark.parametrize("probe", [SCORE, WRITE], ids=["score", "write"])
def test_what_a_probe_is_for_does_not_count(probe: ScoreProbe | GenerateProbe, change: dict[str, str]) -> None:
    assert probe.model_validate({**probe.model_dump(), **change}).id == probe.id


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": "The capital of Peru was"},
        {"separator": ""},
        {"targets": ("Oslo", "Lima")},
        {"greedy": True},
        {"matches": True},
        {"top": 5},
    ],
)
def test_what_is_scored_counts(change: dict[str, object]) -> None:
    assert ScoreProbe.model_validate({**SCORE.model_dump(), **change}).id != SCORE.id


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": "How to visit Oslo?"}, {"separator": "\n"}, {"instruction": "Write."}, {"chat": "auto"},
        {"start": "Step 1:"}, {"most": 255}, {"temperature": 0.5}, {"top_p": 0.9}, {"seed": 1}, {"sample": 1},
        {"stop": ("\n",)},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_every_setting_of_a_text_counts(change: dict[str, object]) -> None:
    assert GenerateProbe.model_validate({**WRITE.model_dump(), **change}).id != WRITE.id


def test_ids_that_users_keep_in_their_runs() -> None:
    assert SCORE.id == "7f57efb4e5b41fc70181"
    assert WRITE.id == "79206052322de877ccaa"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"targets": ()}, "at least 1"),
        ({"ask": "choose"}, "'score', 'generate'"),
        ({"colour": "red"}, "Extra inputs"),
    ],
)
def test_probes_that_cannot_be_asked(data: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        TypeAdapter(Probe).validate_python({**SCORE.model_dump(), **data})


@pytest.mark.parametrize("change", [{"most": 0}, {"temperature": -0.1}, {"top_p": 0}, {"top_p": 1.1}])
def test_settings_that_write_nothing(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        GenerateProbe.model_validate({**WRITE.model_dump(), **change})


def test_a_probe_comes_back_as_what_it_was() -> None:
    adapter = TypeAdapter(Probe)
    assert [adapter.validate_json(p.model_dump_json()) for p in (SCORE, WRITE)] == [SCORE, WRITE]


def test_probes_of_before_keep_their_ids() -> None:
    """Journals and stored answers of the unedited model name probes by them."""
    assert (SCORE.id, WRITE.id) == ("7f57efb4e5b41fc70181", "79206052322de877ccaa")


@pytest.mark.parametrize("probe", [SCORE, WRITE], ids=["score", "write"])
@pytest.mark.parametrize("field", ["instruction", "instruction_in_context"])
def test_instructions_count(probe: ScoreProbe | GenerateProbe, field: str) -> None:
    variant = probe.model_copy(update={field: "Answer."})
    assert type(probe).model_validate(variant.model_dump()).id != probe.id


@pytest.mark.parametrize("probe", [SCORE, WRITE], ids=["score", "write"])
def test_an_edit_leaves_the_instruction_alone_and_may_call_for_another(probe: ScoreProbe | GenerateProbe) -> None:
    def with_event(prompt: str) -> str:
        return f"Event: Lima moved.\n{prompt}"

    variant = probe.model_copy(update={"instruction": "Answer."})
    assert instructed(probe, None) == probe.prompt
    assert instructed(variant, None) == f"Answer.\n\n{probe.prompt}"
    assert instructed(variant, with_event) == f"Answer.\n\nEvent: Lima moved.\n{probe.prompt}"
    other = variant.model_copy(update={"instruction_in_context": "Use the event."})
    assert instructed(other, with_event) == f"Use the event.\n\nEvent: Lima moved.\n{probe.prompt}"
    assert instructed(other, lambda prompt: prompt) == instructed(other, None) == f"Answer.\n\n{probe.prompt}"


@pytest.mark.parametrize("probe", [ScoreProbe(purpose="fact", item="x", prompt="Paris is in", targets=("France",))])
def test_a_changed_copy_has_an_id_of_its_own(probe: ScoreProbe) -> None:
    before = probe.id
    changed = probe.model_copy(update={"prompt": "Lima is in"})
    assert changed.id == ScoreProbe(purpose="fact", item="x", prompt="Lima is in", targets=("France",)).id != before
    assert probe.id == before and probe.model_copy().id == before


def test_probes_of_before_keep_their_ids_and_a_thought_counts() -> None:
    told = {"purpose": "script_question", "item": "q", "prompt": "How?", "instruction": "I", "chat": "auto"}
    probe = GenerateProbe.model_validate({**told, "start": "Step 1:", "most": 9, "stop": ("x",)})
    assert probe.id == "eaaab057fd29d280c22b", "as the version before thoughts had it"
    thinks = [probe.model_copy(update={"thought": ThoughtAsked(marks=(("<t>", "</t>"),), most=n)}) for n in (5, 6)]
    assert len({p.id for p in (probe, *thinks)}) == 3 and [p.longest for p in (probe, *thinks)] == [9, 14, 15]


@pytest.mark.parametrize(
    ("prompt", "separator", "target", "problem"),
    [
        ("The capital of France is ", " ", "Paris", "the prompt 'The capital of France is ' ends with white space"),
        ("Paris is\n", "\n", "a city", "ends with white space"),
        ("The capital of France is", " ", " Paris", "the target ' Paris' begins with white space"),
        ("The capital of France is ", "", "Paris", ""),
        ("The capital of France is", "", " Paris", ""),
        ("The capital (", "", "Paris", ""),
        ("The capital is ", "(", "Paris", ""),
    ],
)
def test_white_space_between_prompt_and_target_is_given_once(
    prompt: str, separator: str, target: str, problem: str
) -> None:
    def make() -> ScoreProbe:
        return ScoreProbe(purpose="fact", item="f", prompt=prompt, separator=separator, targets=("Rome", target))

    if not problem:
        assert make().targets[1] == target
        return
    with pytest.raises(ValidationError, match=re.escape(problem) + ".*give separator=''"):
        make()
