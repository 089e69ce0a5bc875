"""Each method against a plain re-statement of itself on tiny models."""

from __future__ import annotations

import pytest

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from tests.support.editors import edit_requests
from tests.support.facts import peru_fact

corpus = edit_requests.corpus


@pytest.mark.parametrize("method", ["prompt", "ft", "ft_l", "rome"])
def test_nothing_to_edit(method: str, tiny: LM, cache: Cache, corpus: str) -> None:
    editor = make_editor(method, tiny, cache, {"corpus": corpus} if method == "rome" else {})
    with pytest.raises(UserError, match="no edit to make"):
        editor.edit([])
    with pytest.raises(UserError, match="f/fixed: the fact has no new object"):
        editor.edit([peru_fact("f/fixed", new=None, change="none")])
