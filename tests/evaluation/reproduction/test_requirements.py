"""What a reproduction needs, and whether it is here."""

from __future__ import annotations

from evaluation.reproduction.published import published_table, requirements


def test_needs_name_what_is_missing_and_see_what_is_there(tmp_path):
    (tmp_path / "ScEdit-CF.json").write_text("[]")
    by_name = {n.what: n.here for n in requirements(published_table("scedit-table2"), data=tmp_path)}
    assert by_name["data: ScEdit-CF.json"] and not by_name["data: ScEdit-T.json"]
    assert by_name["method: rome"] and by_name["method: memit"]
    assert all(n.fix for n in requirements(published_table("scedit-table8")))
