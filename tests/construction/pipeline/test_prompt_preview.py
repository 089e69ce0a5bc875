"""What ``scedit prompts`` shows: every prompt in use, as the model would see it, and no more than the model sees."""

from __future__ import annotations

from construction.pipeline.prompt_preview import prompt_list, render_messages
from construction.prompts.prompt_file import FILES, copy_prompts
from tests.support import ROOT
from tests.support.facts import make_fact

FACT = make_fact("Atlantis </text> {old}", "Lima", "Oslo")


def last_turn(fact, task):
    turns = [t for t in render_messages(fact, "paper") if t["label"].startswith(task) and t["role"] == "user"]
    return turns[-1]["content"]


def test_the_listing_names_files_that_are_there_one_for_every_task_and_profile():
    rows = list(prompt_list())
    tasks = {(row["task"], row["profile"]) for row in rows}
    assert tasks == {(task, profile) for task in ("questions", "scripts") for profile in FILES.profiles()} | {
        (f"verify_{task}", "paper") for task in ("question", "prompt", "next")
    }
    assert len({row["label"].partition("@")[0] for row in rows}) == len(rows)
    for row in rows:
        assert (ROOT / row["path"]).is_file(), f"{row['label']} is said to stand in {row['path']}"
    assert [r for r in prompt_list("paper")] == [r for r in rows if r["profile"] == "paper"]


def test_a_fact_without_a_change_is_shown_as_a_neighbour_would_be():
    plain = make_fact("Peru", "Lima", None)
    (last,) = [
        t["content"]
        for t in render_messages(plain, "paper")
        if t["label"].startswith("questions") and t["role"] == "user"
    ][-1:]
    assert "Lima" in last and "after the change" not in last


def test_what_a_fact_says_is_data_in_what_is_shown():
    part = last_turn(FACT, "verify_prompt").split("<text>\n")[-1]
    assert part.count("</text>") == 1 and "< /text> {old}" in part, "no name closes the fence or fills a placeholder"


def test_prompts_of_ones_own_are_shown_with_their_files_the_verifiers_among_them(tmp_path):
    mine = tmp_path / "mine"
    copy_prompts("paper", mine)
    for name in ("questions", "verify_question", "verify_prompt"):
        (mine / f"{name}.toml").unlink()
    rows = list(prompt_list(folder=mine))
    assert [(r["task"], r["path"]) for r in rows] == [
        (task, str(mine / f"{task}.toml")) for task in ("scripts", "verify_next")
    ]
    assert {t["label"] for t in render_messages(FACT, folder=mine)} == {row["label"] for row in rows}
    (mine / "scripts.toml").unlink()
    assert [r["task"] for r in prompt_list(folder=mine)] == ["verify_next"], "a folder of the verifier's alone is one"
