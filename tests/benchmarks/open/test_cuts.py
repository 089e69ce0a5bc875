"""What is read out of verdicts about cuts, and tables that wait until all prompts are judged."""

from __future__ import annotations

import pytest

from curation.shipped import shipped_split
from curation.splits.split_file import make_split
from schemas.scripts import ScriptPrompt
from schemas.verdicts import Verdict, verdict_key
from tests.support.arithmetic import make_prompt

benchmark = pytest.importorskip("benchmarks.open.cuts", reason="benchmarks are not shipped")


def _prompts(number: int) -> list[ScriptPrompt]:
    return [make_prompt(f"p/{n}", "f/1", f"How?\nStep {n}: Go to", "Lima", "Oslo") for n in range(number)]


def _verdict(prompt: ScriptPrompt, by: str, reason: str, value: float | None) -> Verdict:
    key, label = verdict_key(item_id=prompt.id, by=by), None if value is not None else "keep"
    return Verdict(key=key, item_id=prompt.id, by=by, label=label, reason=reason, value=value, unit="bits")


def _place(rank: int, bits: float, plain: int) -> str:
    return f"at the cut 'Lima' ranks {rank} of 9 ({bits:+.2f} bits), under the plain prompt {plain} of 9 (-0.50 bits)"


def test_shares_and_medians_over_all_and_over_known_facts() -> None:
    prompts = _prompts(4)
    said = [_place(1, 4.0, 1), _place(3, -1.0, 1), _place(6, -3.0, 2), _place(1, 2.0, 5)]
    verdicts = {p.id: _verdict(p, "cut_guidance@1", text, 1.0) for p, text in zip(prompts, said, strict=True)}
    all_, known = benchmark.guidance_rows(prompts, {"cut_guidance": verdicts})
    assert all_[1] == "4" and all_[2].startswith("2 of 4") and all_[3].startswith("3 of 4") and all_[4] == "+0.5"
    assert known[1] == "2" and known[2].startswith("1 of 2") and known[4:] == ["+1.5", "-0.5"]
    del verdicts[prompts[0].id]
    assert benchmark.guidance_rows(prompts, {"cut_guidance": verdicts}) == [["all", "not judged", *["-"] * 4]]
    with pytest.raises(ValueError, match="no ranks in"):
        benchmark.guidance("the object is not in the store")


def test_telling_words_are_counted_where_all_are_judged() -> None:
    prompts = _prompts(3)
    values = (None, 1.9, 2.0)
    verdicts = {p.id: _verdict(p, "telling_word@1", "said", v) for p, v in zip(prompts, values, strict=True)}
    text = benchmark.telling_words(prompts, {"telling_word": verdicts})
    assert text.startswith("2 of 3 script prompts end in an article") and "in 1 of them it adds 2 bits or more" in text
    verdicts.popitem()
    assert benchmark.telling_words(prompts, {"telling_word": verdicts}).endswith("not judged.")


def test_one_prompt_a_case_is_drawn_whatever_their_order() -> None:
    split = shipped_split("open:dev")
    drawn = benchmark.one_a_case(split)
    assert [p.fact for p in drawn] == [case.fact.key for case in split.cases]
    turned = [case.model_copy(update={"prompts": case.prompts[::-1]}) for case in split.cases]
    assert benchmark.one_a_case(make_split("turned", turned)) == drawn
    assert len({case.prompts.index(p) for case, p in zip(split.cases, drawn, strict=True)}) == 4
    assert len(benchmark.all_own(split)) == sum(len(case.prompts) for case in split.cases)
