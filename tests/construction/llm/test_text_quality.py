from __future__ import annotations

import pytest

from construction.llm.prompt_file import SMALL_PROFILES, text_quality
from construction.prompts.prompt_file import FILES
from curation.files.local_models import LOCAL_LABEL
from curation.files.model_packages import EMBEDDED_LABEL


@pytest.mark.parametrize(
    ("model", "profile", "names", "quality"),
    [
        (EMBEDDED_LABEL, "paper", None, "plumbing"),
        (LOCAL_LABEL, "paper", None, "plumbing"),
        (LOCAL_LABEL, "mine", "draft", "plumbing"),
        ("gpt-4.1", "local", None, "plumbing"),
        ("gpt-4.1", "embedded", None, "plumbing"),
        ("gpt-4.1", "paper", None, None),
        ("gpt-4.1", "localised", None, None),
        ("gpt-4.1", "mine", "draft", "draft"),
        ("", "", None, None),
    ],
)
def test_quality_follows_from_model_and_profile(model, profile, names, quality):
    assert text_quality(model, profile, named=names) == quality


@pytest.mark.parametrize("task", ["questions", "scripts"])
def test_texts_of_our_prompts_keep_the_quality_that_is_stored_of_them(task):
    """What journals and stores say of the models' texts does not move: the present files name no quality themselves."""
    for prompt in FILES.shipped(task):
        assert prompt.quality_of("some model") == ("plumbing" if prompt.profile in SMALL_PROFILES else None)
    assert FILES.load(task, "local").quality is None is FILES.load(task, "embedded").quality
