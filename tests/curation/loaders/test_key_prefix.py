"""The same records under keys of their own: everything that names a key follows."""

from __future__ import annotations

import pytest

from curation.loaders.key_prefix import check_prefix, split_with_prefix, with_prefix
from curation.shipped import mini_split
from curation.splits.split_file import make_split
from schemas.core.errors import UserError
from schemas.extras import Extra
from tests.support.curation.rule_records import EDIT, LINK, P0, S0, said


def test_every_key_that_a_record_names_follows() -> None:
    assert with_prefix(P0, "b").model_dump(include={"key", "fact", "question", "script"}) == {
        "key": f"b/{P0.key}", "fact": "b/f/peru", "question": "b/f/peru/q0", "script": "b/f/peru/q0/s"
    }  # fmt: skip
    assert with_prefix(S0, "b").question == "b/f/peru/q0"
    assert (with_prefix(LINK, "b").edit, with_prefix(LINK, "b").fact) == ("b/f/peru", "b/f/museum")
    extra = Extra.holding("x", [1], subject_key="f/1", name="x", depends_on=("f/2",))
    assert (with_prefix(extra, "b").subject_key, with_prefix(extra, "b").depends_on) == ("b/f/1", ("b/f/2",))
    bare = P0.model_copy(update={"script": None})
    assert with_prefix(bare, "b").script is None and with_prefix(EDIT, "b").id != EDIT.id


def test_what_belongs_to_one_content_cannot_be_moved() -> None:
    with pytest.raises(UserError, match="a verdict belongs to one content"):
        with_prefix(said(EDIT.id, "leak@1", "drop"), "b")


@pytest.mark.parametrize("name", ["", "a/b", "../x", "a b", ".hidden", "x" * 101, "a\n"])
def test_names_that_cannot_stand_before_keys(name: str) -> None:
    with pytest.raises(UserError, match="cannot stand before keys"):
        check_prefix(name)


def test_a_split_of_its_own() -> None:
    original = make_split("mini", mini_split().cases[:3], details={"rule": {"prefix": "mini/"}})
    split = split_with_prefix(original, "b")
    assert (split.name, len(split.cases), split.digest == original.digest) == ("b", 3, False)
    assert split.digest == make_split("b", list(split.cases)).digest
    assert split.header["made_of"]["digest"] == original.digest and "rule" not in split.header
    for before, after in zip(original.cases, split.cases, strict=True):
        assert after.key == f"case/b/{before.key.removeprefix('case/')}" and after.fact.key == f"b/{before.fact.key}"
        assert {p.fact for p in after.prompts} == {after.fact.key}
        assert {n.link.fact for n in after.neighbours} == {n.fact.key for n in after.neighbours}
