"""The search for cycles is held back for a while and comes back as it was."""

from __future__ import annotations

import gc

import pytest

from curation.store.garbage import RARELY, rare_collections


@pytest.fixture(autouse=True)
def _as_before():
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.parametrize(("before", "inner"), [(700, RARELY), (10 * RARELY, 10 * RARELY), (0, 0)])
def test_the_setting_comes_back_after_an_error(before, inner):
    gc.set_threshold(before, 11, 12)
    with pytest.raises(KeyError), rare_collections():
        assert gc.get_threshold()[0] == inner
        raise KeyError
    assert gc.get_threshold()[:2] == (before, 11)
