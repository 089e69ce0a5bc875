"""The section on means of methods: every figure, every text escaped, or the reason why there is none."""

from __future__ import annotations

from annotation_ui.agreement.means_section import means_section
from annotation_ui.agreement.method_means import MethodMeans
from curation.stats.estimates import Estimate
from curation.stats.facets.means import FacetReport, MethodDifference

REPORT = FacetReport(
    means={("coherence", "<b>rome"): Estimate("m", 4.5, 4.0, 5.0, n=30, cases=9)},
    raw={("coherence", "<b>rome"): 4.75},
    differences=(MethodDifference("coherence", "<b>rome", "none", Estimate("d", 1.25, 0.5, 2.0)),),
    severity={"<i>ann": Estimate("ann", -0.5, -1.0, 0.0)},
    ratings=60,
    cases=9,
    converged=True,
)


def test_all_figures_are_there_and_nothing_is_mark_up() -> None:
    section = means_section(MethodMeans(REPORT, width=0.5))
    for text in ("4.50 [4.00, 5.00]", "4.75", "1.25 [0.50, 2.00]", "-0.50 [-1.00, 0.00]", "Stop rule: not met"):
        assert text in section
    assert "<b>" not in section and "<i>" not in section and "&lt;b&gt;rome - none" in section
    assert "did not come to rest" not in section


def test_a_fit_that_did_not_come_to_rest_and_a_refusal_are_said() -> None:
    assert "did not come to rest" in means_section(MethodMeans(REPORT._replace(converged=False)))
    assert "None, because &lt;ann&gt; alone rated." in means_section(MethodMeans(None, "<ann> alone rated"))
