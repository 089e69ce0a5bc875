"""The tables about the labelled scripts: their counts are those of the decisions, and the documentation holds them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from benchmarks.checks.script_benchmark import ScriptDecision, labelled_scripts
from benchmarks.checks.script_decisions import decisions_by_rules, decisions_with
from curation.checks.store_checks import CheckContext, StoreCheck
from schemas.core.errors import UserError
from schemas.core.records import Record
from schemas.scripts import ScriptPrompt
from schemas.verdicts import Label, Verdict

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


class _Lengths(StoreCheck):
    """Drops prompts of good items, measures the length of all."""

    name: ClassVar[str] = "lengths"
    version: ClassVar[int] = 1
    on: ClassVar[str] = "prompt"
    about: ClassVar[str] = "a check of this test"

    def judge(self, items: Sequence[Record], around: CheckContext) -> Iterator[Verdict]:
        for item in items:
            assert isinstance(item, ScriptPrompt)
            label: Label = "drop" if "/good/" in item.fact else "keep"
            yield self.verdict(item, label, "long", value=float(len(item.text)), unit="letters")


def test_what_a_check_says_alone_is_counted_by_kind_and_half(tmp_path: Path) -> None:
    scripts = benchmark.draw(SCRIPTS, kinds=["good", "related_knowledge"], most=2)
    check = _Lengths()
    decisions_with(SCRIPTS, check, tmp_path, judged={s.key for s in scripts})
    lines = [line.split(" | ") for line in benchmark.table_of_verdicts(scripts, check, tmp_path).splitlines()[2:]]
    assert [(line[0].strip("| "), line[1], line[2]) for line in lines] == [
        (half, kind, "2") for half in ("test", "tuning") for kind in ("good", "related knowledge")
    ]
    assert [(line[3], line[5]) for line in lines] == [("0", "2"), ("2", "0")] * 2
    assert all(float(line[7].strip("| ")) > 0 for line in lines)
