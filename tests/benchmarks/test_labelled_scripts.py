"""The tables about the labelled scripts: their counts are those of the decisions, and the documentation holds them."""

from __future__ import annotations

from pathlib import Path

import pytest

from construction.pipeline.labelled_scripts import decisions_by_rules
from curation.checks.script_benchmark import ScriptDecision, labelled_scripts
from schemas.core.errors import UserError

benchmark = pytest.importorskip("benchmarks.labelled_scripts", reason="benchmarks are not shipped")
PAGE = Path(__file__).parents[2] / "docs" / "leakage.md"
SCRIPTS = labelled_scripts()


def _rows(table: str) -> dict[str, list[str]]:
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    return {cells[0]: cells[1:] for cells in lines}


def test_shares_of_an_editor_who_is_always_right() -> None:
    truth = {s.key: ScriptDecision(s.verdict, s.cut.prompt if s.cut else None) for s in SCRIPTS}
    rows = _rows(benchmark.aims_table(SCRIPTS, truth))
    assert all(cell.startswith("60 of 60: 1.00") for cell in rows["good items kept, cut in the right place"][1:])
    assert all(cell.startswith("0 of ") for cell in rows["wrong cuts kept"][1:])
    assert all(": 1.00 " in cell for cell in rows["derived names found"][1:])


def test_shares_of_one_who_keeps_everything_cut_at_the_question() -> None:
    lax = {s.key: ScriptDecision("keep", s.question) for s in SCRIPTS}
    rows = _rows(benchmark.aims_table(SCRIPTS, lax))
    assert all(cell.startswith("0 of 60") for cell in rows["good items kept, cut in the right place"][1:])
    for cell in rows["wrong cuts kept"][1:]:
        kept_count, of = cell.split(":")[0].split(" of ")
        assert kept_count == of
    assert all(cell.startswith("0 of ") for cell in rows["derived names found"][1:])


def test_the_table_by_kind_adds_up() -> None:
    text = benchmark.confusion_table(SCRIPTS, decisions_by_rules(SCRIPTS), "test")
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in text.splitlines()[2:]]
    assert sum(int(c[2]) for c in cells) == sum(s.half == "test" for s in SCRIPTS)
    assert all(int(c[2]) == sum(map(int, c[3:7])) for c in cells)


def test_mistakes_are_named_with_the_cut_and_the_reason() -> None:
    script = next(s for s in SCRIPTS if s.kind == "good")
    sentence = benchmark.mistakes([script], {script.key: ScriptDecision("drop", None, ("no_mention: nothing",))})
    assert (
        script.key in sentence
        and "no prompt" in sentence
        and "no_mention: nothing" in sentence
        and script.why in sentence
    )
    assert script.cut is not None
    assert benchmark.mistakes([script], {script.key: ScriptDecision("keep", script.cut.prompt)}) == ""


def test_a_draw_takes_no_more_of_each_kind_and_holds_every_smaller_draw() -> None:
    few, more = (benchmark.draw(SCRIPTS, half="test", kinds=("good", "homonym"), most=n) for n in (3, 7))
    assert {s.key for s in few} < {s.key for s in more} and {s.half for s in more} == {"test"}
    assert [sum(s.kind == kind for s in more) for kind in ("good", "homonym", "cut")] == [7, 7, 0]
    other = benchmark.draw(SCRIPTS, half="test", kinds=("good", "homonym"), most=3, seed_number=14)
    assert {s.key for s in other} != {s.key for s in few} and len(other) == len(few)
    assert benchmark.draw(SCRIPTS) == list(SCRIPTS)
    with pytest.raises(UserError) as error:
        benchmark.draw(SCRIPTS, kinds=("good", "god"))
    assert "no kind 'god'" in str(error.value) and "good" in (error.value.allowed or "")


def test_tables_of_one_half_leave_the_other_out() -> None:
    chosen = benchmark.draw(SCRIPTS, half="test", kinds=("good",))
    truth = {s.key: ScriptDecision(s.verdict, s.cut.prompt if s.cut else None) for s in chosen}
    text = benchmark.tables(chosen, truth)
    assert "| kind (test) |" in text and "| kind (tuning) |" not in text
    rows = _rows(benchmark.aims_table(chosen, truth))
    assert rows["good items kept, cut in the right place"][1:] == ["-", "60 of 60: 1.00 [0.94, 1.00]"]
    assert rows["wrong cuts kept"][1:] == ["-", "-"]


def test_the_documentation_holds_the_tables_of_today() -> None:
    text = PAGE.read_text(encoding="utf-8").partition(benchmark.BEGIN)[2].partition(benchmark.END)[0].strip()
    tables = benchmark.tables(SCRIPTS, decisions_by_rules(SCRIPTS))
    assert text == tables, "run: python -m benchmarks.labelled_scripts --write docs/leakage.md"


def test_tables_replace_only_what_stands_between_the_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"Before\n{benchmark.BEGIN}\nold\n{benchmark.END}\nAfter\n", encoding="utf-8")
    benchmark.write_tables(page, "| new |")
    assert page.read_text(encoding="utf-8") == (f"Before\n{benchmark.BEGIN}\n\n| new |\n\n{benchmark.END}\nAfter\n")
    page.write_text(f"{benchmark.END}\n{benchmark.BEGIN}\n", encoding="utf-8")
    with pytest.raises(UserError) as error:
        benchmark.write_tables(page, "x")
    assert error.value.where == str(page) and page.read_text(encoding="utf-8").startswith(benchmark.END)
