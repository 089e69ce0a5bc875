from __future__ import annotations

from construction.documents.checks.base import ProbeInputs
from construction.documents.checks.tag_known import TagKnown
from tests.support.documents.records import make_document, make_probe


def test_tags_are_of_the_closed_list_and_level_3_has_some() -> None:
    check, document = TagKnown(), make_document()
    tagged = ProbeInputs(document=document, probe=make_probe(level=3, tags=("reverse",)))
    bare = ProbeInputs(document=document, probe=make_probe(level=3))
    unknown = ProbeInputs(document=document, probe=make_probe(level=1), unknown_tags=("Weather",))
    assert [check.judge_one(i).label for i in (tagged, bare, unknown)] == ["keep", "unsure", "unsure"]
    assert "'Weather' is none of the closed list" in check.judge_one(unknown).reason
    assert not check.applies(ProbeInputs(document=document, probe=make_probe(level=2)))
