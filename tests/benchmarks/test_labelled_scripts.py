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
