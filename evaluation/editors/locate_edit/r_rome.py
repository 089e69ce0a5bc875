"""R-ROME (Gupta et al. 2024, "Rebuilding ROME"): ROME with the averaged key everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from evaluation.editors.locate_edit import readings
from evaluation.editors.locate_edit.rome import Rome
from schemas.facts import Fact


class RRome(Rome):
    """ROME whose closed form is one: v* is written at the averaged key, the very one that u is made of.

    ROME averages the key over context templates for u and takes the bare prompt's key in the denominator, so a bare
    key that happens to lie across u blows the change up (§3 of the paper). Here the value, too, is averaged, as in the
    published code; v₀, to which the search adds δ, stays that of the bare prompt.
    """

    name: ClassVar[str] = "r_rome"
    about: ClassVar[str] = "ROME with the averaged key in numerator and denominator (R-ROME)"

    class Params(Rome.Params):
        """Options of R-ROME: those of ROME."""

    params: Params

    def _written_at(self, facts: Sequence[Fact], contexts: Sequence[str]) -> readings.KeyValues:
        prompts = [readings.subject_position(self.lm, fact, text) for fact in facts for text in contexts]
        key_values = readings.read_at(self.lm, self.lm.projection(self.params.layer), prompts)
        shape = (len(facts), len(contexts), -1)
        return readings.KeyValues(key_values.keys.reshape(shape).mean(1), key_values.values.reshape(shape).mean(1))
