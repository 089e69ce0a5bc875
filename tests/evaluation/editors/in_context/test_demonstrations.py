"""What a case can show, how kinds are spread in a ratio, and the methods that show it."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import pytest

from curation.files.artifact_cache import Cache
from evaluation.editors.in_context.demonstrations import KINDS, Demonstration, Kind, Shows, assign, of_facts, of_scripts
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from schemas.cases import Case
from schemas.core.errors import UserError
from tests.support.arithmetic import make_case
from tests.support.editors import memories
from tests.support.editors.memories import PERU, country, prepared
from tests.support.events import make_event
from tests.support.facts import make_fact


def shows(*kinds: Kind, texts: int = 1) -> Shows:
    """A case that can show these kinds; each text says which it is."""
    return {k: [Demonstration(f"{k}{n}", " ", "x") for n in range(texts if k in kinds else 0)] for k in KINDS}


def kinds_of(demonstrations: list[Demonstration | None]) -> list[str | None]:
    return [None if one is None else one.prompt.rstrip("0123456789") for one in demonstrations]


def names(n: int) -> list[str]:
    return [f"case/{i}" for i in range(n)]


def test_facts_show_the_new_object_and_neighbours_their_own() -> None:
    case = make_case("Peru")
    digest = of_facts(case.model_copy(update={"fact": case.fact.model_copy(update={"neighbour_prompts": ("Ica is",)})}))
    assert [s.text for s in digest["copy"]] == ["The capital of Peru is Oslo"]
    assert [s.text for s in digest["update"]] == ["The capital city of Peru is Oslo", "Peru is led from Oslo"]
    assert [s.text for s in digest["retain"]] == ["The capital of Peruville is Lima", "Ica is Lima"]


def test_scripts_end_before_the_object_with_the_prompts_own_separator() -> None:
    case = make_case("Peru")
    prompts = tuple(p.model_copy(update={"separator": "", "text": f"{p.text} "}) for p in case.prompts)
    digest = of_scripts(case.model_copy(update={"prompts": prompts}))
    assert [s.text for s in digest["update"]] == [f"How to reach Peru ({n})?\nStep 1: Fly to Oslo" for n in (1, 2)]
    assert [s.answer for s in digest["retain"]] == ["Lima"], "the neighbour's own object"
    assert digest["copy"] == of_facts(case)["copy"]


def test_a_bare_case_can_show_little() -> None:
    bare = Case(key="case/x", fact=make_fact("Peru", "Lima", "Oslo"))
    for digest in (of_facts(bare), of_scripts(bare)):
        assert len(digest["copy"]) == 1 and not digest["update"] and not digest["retain"]


@pytest.mark.parametrize(
    ("ratio", "count"),
    [
        ((1, 3, 4), {"copy": 10, "update": 30, "retain": 40}),
        ((0, 1, 1), {"update": 40, "retain": 40}),
        ((0.5, 0.25, 0.25), {"copy": 40, "update": 20, "retain": 20}),
    ],
)
def test_the_ratio_holds_at_every_length(ratio: tuple[float, ...], count: dict[str, int]) -> None:
    kinds = kinds_of(assign([shows(*KINDS)] * 80, ratio, names=names(80)))
    assert Counter(kinds) == count
    for n in range(1, 81):
        for kind, share in zip(KINDS, ratio, strict=True):
            assert abs(kinds[:n].count(kind) - n * share / sum(ratio)) < 1 + 1e-9, (n, kind)


def test_a_case_shows_what_it_can_and_later_ones_make_up_for_it() -> None:
    able = [shows("copy")] * 4 + [shows(*KINDS)] * 12
    kinds = kinds_of(assign(able, (1, 1, 2), names=names(16)))
    assert kinds[:4] == ["copy"] * 4 and Counter(kinds) == {"copy": 4, "update": 4, "retain": 8}


def test_nothing_wanted_gives_nothing() -> None:
    assert assign([shows(), shows("retain"), shows("copy")], (1, 1, 0), names=names(3)) == [
        None,
        None,
        Demonstration("copy0", " ", "x"),
    ]
    assert assign([], (1, 3, 4), names=[]) == []


def test_the_text_hangs_on_the_cases_name_alone() -> None:
    """Whoever stands before or after it, a case shows the same text of a kind; different cases differ."""
    many = shows("copy", texts=50)
    single_result = assign([many], (1, 0, 0), names=["case/7"])
    among = assign([many] * 10, (1, 0, 0), names=names(10))
    assert among[7] == single_result[0] and len(set(among)) > 5
    assert any(a != b for a, b in pairwise(among))


lm = memories.lm


def test_ice_instructs(lm: LM, cache: Cache) -> None:
    edit = make_editor("ice", lm, cache).edit([PERU, country("Chad", "Lima", "Rome")])
    text = "Imagine that The capital of Peru is Oslo; The capital of Chad is Rome. Answer accordingly, whatever you "
    assert edit.rewrite("How?") == text + "remember.\nHow?"
    editor = make_editor("ice", lm, cache, {"template": "Say {facts}! "}).edit([PERU])
    assert editor.rewrite("How?") == "Say The capital of Peru is Oslo! How?"
    with pytest.raises(UserError, match=r"template: must hold \{facts\} exactly once"):
        make_editor("ice", lm, cache, {"template": "nothing"})


def test_events_stand_on_a_line_each_and_the_template_is_for_facts(lm: LM, cache: Cache) -> None:
    method = make_editor("ice", lm, cache)
    events = [make_event(), make_event("e/2", "Corvo moved.")]
    assert method.edit(events).rewrite("Question: who?\nAnswer:") == (
        "Event: Alba Rail merged with Brenta Rail.\nEvent: Corvo moved.\nQuestion: who?\nAnswer:"
    )


support = memories.support


def test_script_ike_shows_scripts(lm: LM, cache: Cache, support: list[Case]) -> None:
    scripted = [make_case("Land01"), make_case("Land02")]
    options = {"k": 2, "ratio": (0, 1, 0)}
    edit = prepared("script_ike", lm, cache, [*support, *scripted], **options).edit([PERU])
    blocks = edit.rewrite("How to see Peru?").split("\n\n")
    assert len(blocks) == 3 and blocks[-1] == "New Fact: The capital of Peru is Oslo.\nHow to see Peru?"
    pattern = r"New Fact: The capital of (Land0\d) is Oslo\.\nHow to reach \1 \(\d\)\?\nStep 1: Fly to Oslo"
    assert all(re.fullmatch(pattern, b) for b in blocks[:2])
    with pytest.raises(UserError, match="script_ike: there is no case to demonstrate with"):
        prepared("script_ike", lm, cache, support).edit([PERU])
