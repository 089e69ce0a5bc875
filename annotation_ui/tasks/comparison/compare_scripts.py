"""Compare two scripts by Coherence, Consistency and Completeness, blind to method, model and judge."""

from __future__ import annotations

from annotation_ui.tasks.comparison.pairs import ComparisonTask
from annotation_ui.tasks.forms import read_form


class CompareScripts(ComparisonTask):
    """Which of two scripts of one question is better, on the three aspects that need the question and the objects."""

    about = "Compare two scripts of one question by Coherence, Consistency and Completeness"
    after = ("compare_executability", "rate_executability")
    form = read_form("compare_scripts")
