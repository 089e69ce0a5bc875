"""Digests of what was pushed: the same for the same content, another for any other."""

from __future__ import annotations

from typing import Any

import pytest

from annotation_ui.label_studio.labeling_config import label_config
from annotation_ui.label_studio.push_digest import (
    PushedDigests,
    config_digest,
    data_digest,
    digests_of_campaign,
    keep_config,
    keep_tasks,
)
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.records import CampaignItem
from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.filter_question import FilterQuestion
from schemas.core.errors import UserError

FORM = FilterQuestion.form


def item(name: str, cut: str = "Step 1") -> CampaignItem:
    return CampaignItem(TaskItem(id=name, case="c", shown={"edit": "e", "question": "q", "cut": cut}))


@pytest.mark.parametrize("data", [None, "x", 5, [1], {"a": float("nan")}, {"a": "\ud800"}, {1: 2}])
def test_data_of_any_shape_has_a_digest_that_is_not_the_one_of_texts(data: Any) -> None:
    assert data_digest(data) not in (data_digest({"a": "b"}), data_digest({}))


def test_a_word_of_the_configuration_more_is_another_digest_and_a_line_break_is_not() -> None:
    config = label_config(FORM)
    assert config_digest(config.replace(">\n", ">\n\n  ")) == config_digest(config)
    assert config_digest(config.replace("meaningful", "useful", 1)) != config_digest(config)
    assert config_digest("<View") == config_digest(None) == "unreadable"


def test_what_was_kept_first_stays(db: RatingsDB) -> None:
    keep_tasks(db, "a", "c", "*", {"i": item("i")}, FORM)
    before = digests_of_campaign(db, "c").tasks
    keep_tasks(db, "a", "c", "*", {"i": item("i", "another"), "j": item("j")}, FORM)
    after = digests_of_campaign(db, "c").tasks
    assert after["i"] == before["i"] and set(after) == {"i", "j"}
    assert digests_of_campaign(db, "cc").tasks == {}, "another campaign whose name begins alike"


def test_a_form_without_a_new_version_is_refused_and_an_old_project_is_not_vouched_for(db: RatingsDB) -> None:
    keep_config(db, "a", "c", "*", FORM)
    with pytest.raises(UserError, match="raise its version"):
        keep_config(db, "a", "c", "*", FORM.model_copy(update={"title": "other"}))
    db.link("b", "project/c", [("*", "5")])
    keep_config(db, "b", "c", "*", FORM)
    assert db.remote_names("b", "config/c") == {}


@pytest.mark.parametrize(
    ("config", "items", "words"),
    [
        (True, {"i"}, ""),
        (True, {"i", "j"}, "1 of 2 tasks"),
        (None, {"i"}, "configuration was not checked"),
        (None, set[str](), ""),
    ],
)
def test_what_could_not_be_checked_is_said(config: bool | None, items: set[str], words: str) -> None:
    text = PushedDigests({"i": "x"}, config=config).unchecked(items)
    assert words in text and bool(text) == bool(words)
