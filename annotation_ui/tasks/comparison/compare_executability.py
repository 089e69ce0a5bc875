"""Compare two scripts by Executability: the scripts and nothing else are seen."""

from __future__ import annotations

from annotation_ui.tasks.comparison.pairs import ComparisonTask
from annotation_ui.tasks.forms import read_form


class CompareExecutability(ComparisonTask):
    """Which of two scripts can better be carried out. Ask it before the other aspects: they show the question."""

    about = "Compare the Executability of two scripts of one question, from the scripts alone"
    script_alone = True
    form = read_form("compare_executability")
