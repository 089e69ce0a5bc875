"""Rate Executability: the script and nothing else is seen (ScEdit Figure 8)."""

from __future__ import annotations

from annotation_ui.tasks.forms import read_form
from annotation_ui.tasks.likert import ScriptRating


class RateExecutability(ScriptRating):
    """Seven points for Executability. Rate it before the other aspects: their task shows the question."""

    about = "Rate Executability of generated scripts, from the script alone"
    script_alone = True
    form = read_form("rate_executability")
