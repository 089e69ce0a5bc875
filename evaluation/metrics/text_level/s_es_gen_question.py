"""S-ES-gen from the question alone (ours): which object does the script that the edited model writes name?"""

from __future__ import annotations

from evaluation.metrics.base import row
from evaluation.metrics.text_level.base import WrittenMetric
from evaluation.metrics.text_level.probes import objects
from evaluation.metrics.text_level.script_parser import names

SESGenQuestion = row(
    WrittenMetric,
    name="s_es_gen_question",
    title="S-ES-gen (question)",
    about="The script written for the question alone names the new object, and before the old one",
    better="higher",
    measure=lambda case, written: float(names(written.text, *objects(case)).first == "new"),
)
