"""How like is a probe to the others of its document?"""

from __future__ import annotations

from typing import ClassVar

from construction.documents.checks.base import ProbeCheck, ProbeInputs
from construction.documents.defaults import ALIKE
from curation.similarity.rouge import rouge1_f
from schemas.documents.document import plain_words
from schemas.verdicts import Label, Verdict


class ProbeRepeats(ProbeCheck):
    """Drop probes that ask what another of the document asks in nearly the same words; measure the likeness.

    Only probes with the same answer (case and punctuation folded) are compared: "Who ...?" and "When ...?" about one
    thing share most of their words. Of two the one with the later key goes.
    """

    name: ClassVar[str] = "probe_repeats"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "greatest ROUGE-1 F with another probe of the document that has the same answer"

    def judge_one(self, inputs: ProbeInputs) -> Verdict:
        """The verdict on the probe."""
        probe = inputs.probe
        others = [p for p in inputs.earlier if plain_words(p.answer) == plain_words(probe.answer)]
        if not others:
            return self.verdict(probe, "keep", "no other probe has its answer", value=0.0, unit="rouge1_f")
        value, nearest = max(((rouge1_f(probe.query, o.query), o) for o in others), key=lambda pair: pair[0])
        label: Label = "drop" if value > ALIKE else "keep"
        reason = f"most like '{nearest.key}' of {len(others)} with its answer"
        verdict = self.verdict(probe, label, reason, value=round(value, 6), unit="rouge1_f")
        return verdict.model_copy(update={"related": (nearest.id,)})  # not in its key: one verdict a probe
