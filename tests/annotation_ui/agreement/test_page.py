"""The page shows the report's own numbers and the means of methods, escapes what people write, and loads nothing."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

from annotation_ui.agreement.method_means import MethodMeans
from annotation_ui.agreement.page import page_body, write_page
from annotation_ui.agreement.report import Judgement, agreement_report
from annotation_ui.tasks.generated_scripts import RateScript
from annotation_ui.tasks.script_questions import FilterQuestion
from curation.stats.bootstrap import Resampling
from curation.stats.estimates import Estimate
from curation.stats.severity_means import MethodDifference, SeverityReport
from schemas.raters import Rater

FEW = Resampling(30)
TASK = RateScript()

REPORT = SeverityReport(
    means={("coherence", "<b>rome"): Estimate("m", 4.5, 4.0, 5.0, n=30, cases=9)},
    raw={("coherence", "<b>rome"): 4.75},
    differences=(MethodDifference("coherence", "<b>rome", "none", Estimate("d", 1.25, 0.5, 2.0)),),
    severity={"<i>ann": Estimate("ann", -0.5, -1.0, 0.0)},
    ratings=60,
    cases=9,
)


def said(values: dict[str, list[int]], aspect: str = "coherence") -> list[Judgement]:
    """Ratings by person, an item and case each."""
    return [
        Judgement(f"i{n}", f"c{n}", Rater.person(p), aspect, v, f"t{n:03}", 5.0)
        for p, row in values.items()
        for n, v in enumerate(row)
    ]


def body(rows: list[Judgement], task: RateScript | FilterQuestion = TASK, means: MethodMeans | None = None) -> str:
    return page_body(agreement_report(rows, task, resampling=FEW), rows, task, means)


def pictures(page: str, about: str) -> list[str]:
    """The SVG of each picture of a page whose words begin so."""
    found = re.findall(rf'<img alt="{about}[^"]*" src="data:image/svg\+xml;base64,([^"]*)"', page)
    return [base64.b64decode(data).decode() for data in found]


def test_names_cannot_bring_mark_up() -> None:
    evil = "<script>alert(1)</script>"
    html = body(said({evil: [1, 2, 3, 4, 5], "b&b": [1, 2, 3, 4, 6]}))
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html and "b&amp;b" in html


def test_the_page_is_one_file_that_asks_for_nothing(tmp_path: Path) -> None:
    rows = said({"ann": [1, 2, 3, 4], "bob": [1, 2, 4, 4]})
    path = tmp_path / "a.html"
    write_page(agreement_report(rows, TASK, resampling=FEW), rows, TASK, path, title="<i>&pilot")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and text.rstrip().endswith("</html>")
    assert "<title>Agreement: &lt;i&gt;&amp;pilot</title>" in text
    assert not re.search(r"src=\"(?!data:)|href\s*=|url\(|@import|<script|<link|https?://", text)


def test_every_answer_of_people_is_counted_and_judges_are_left_out() -> None:
    rows = said({"ann": [1, 1, 7, 4], "bob": [1, 2, 7, 4]})
    rows.append(Judgement("i0", "c0", Rater.judge("m"), "coherence", 5))
    assert 'alt="Answers: 1: 3, 2: 1, 3: 0, 4: 2, 5: 0, 6: 0, 7: 2"' in body(rows)


@pytest.mark.parametrize(
    ("values", "words", "left"),
    [
        ({"ann": [1, 7, 1, 7, 1, 7], "bob": [7, 1, 7, 1, 7, 1]}, "-0.", "\u22121.0"),
        ({"ann": [1, 7, 3], "bob": [1, 7, 3]}, "1.000", "0.0"),
    ],
)
def test_alpha_is_drawn_as_a_point_and_written_beside_it(values: dict[str, list[int]], words: str, left: str) -> None:
    html = body(said(values))
    (picture,) = pictures(html, "Alpha by aspect")
    assert 'aria-roledescription="point"' in picture and f"<td>{words}" in html
    axis = re.findall(r">(\u2212?\d\.\d)</text>", picture)
    assert (axis[0], axis[-1]) == (left, "1.0") and "0.0" in axis, (
        "the axis holds every value and interval, and names 0"
    )


def test_the_paper_s_figure_stands_beside_ratings_and_nowhere_else() -> None:
    html = body(said({"ann": [1, 2, 3, 4], "bob": [1, 2, 4, 4]}))
    assert "ScEdit Table 5" in html and "<td>0.35</td>" in html
    assert 'aria-label="paper: 0.35; aspect: coherence"' in pictures(html, "Alpha by aspect")[0]
    yes = [Judgement(f"i{n}", f"c{n}", Rater.person(p), "guides", "yes" if n else "no") for n in range(4) for p in "ab"]
    plain = body(yes, FilterQuestion())
    assert "ScEdit Table 5" not in plain and "AC2" not in plain


def test_nothing_rated_and_one_rater_still_make_a_page() -> None:
    assert "nobody yet" in body([])
    one = body(said({"ann": [1, 2, 3, 4]}))
    assert "undefined" in one and "Alpha by aspect" not in one and "nan" not in one.lower()


def test_aspects_are_pooled_only_where_there_are_several() -> None:
    one = said({"ann": [1, 2, 3, 4], "bob": [1, 2, 4, 4]})
    assert "Pooled" not in body(one)
    assert "Pooled" in body(one + said({"ann": [5, 6, 7, 7], "bob": [5, 6, 6, 7]}, "completeness"))


def test_means_of_methods_are_there_with_their_texts_escaped() -> None:
    rows = said({"ann": [1, 2, 3], "bob": [1, 2, 4]})
    section = body(rows, means=MethodMeans(REPORT, width=0.5))
    for text in ("4.50 [4.00, 5.00]", "4.75", "1.25 [0.50, 2.00]", "-0.50 [-1.00, 0.00]", "Stop rule: not met"):
        assert text in section
    assert "<b>" not in section and "<i>" not in section and "&lt;b&gt;rome - none" in section
    assert "None, because &lt;ann&gt; alone rated." in body(rows, means=MethodMeans(None, "<ann> alone rated"))
