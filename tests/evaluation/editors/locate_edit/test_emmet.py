from __future__ import annotations

import pytest

from curation.files.artifact_cache import Cache
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from schemas.facts import Object
from tests.support.editors import memit
from tests.support.editors.edit_requests import NORWAY, PERU
from tests.support.editors.memit import close, editor
from tests.support.facts import peru_fact

corpus = memit.corpus


def test_emmet_is_memit_for_small_penalties(tiny: LM, cache: Cache, corpus: str) -> None:
    exact = editor("emmet", tiny, cache, corpus).edit([PERU, NORWAY])
    near = editor("memit", tiny, cache, corpus, lam=1e-7).edit([PERU, NORWAY])
    assert close(near, [delta.matrix().double() for delta in exact.deltas])


def test_the_same_twice_cannot_be_written_exactly(tiny: LM, cache: Cache, corpus: str) -> None:
    other = peru_fact("f/peru2", new=Object(text="Quito"))
    with pytest.raises(UserError, match="keys of 2 facts are not independent"):
        editor("emmet", tiny, cache, corpus).edit([PERU, other])
    assert editor("emmet", tiny, cache, corpus, lam=0.1).edit([PERU, other]).deltas
