"""Rate Coherence, Consistency and Completeness (ScEdit Figures 9-11), blind to method, model and judge."""

from __future__ import annotations

from annotation_ui.tasks.forms import read_form
from annotation_ui.tasks.likert import ScriptRating


class RateScript(ScriptRating):
    """Seven points for the three aspects that need the question and the objects."""

    about = "Rate Coherence, Consistency and Completeness of generated scripts"
    after = ("rate_executability",)
    form = read_form("rate_script")
