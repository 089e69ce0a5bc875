"""GE, generation entropy of written scripts (the measure of ROME's published code, used in ScEdit §4.3)."""

from __future__ import annotations

from typing import ClassVar, Literal

from evaluation.metrics.base import NEVER_NEGATIVE, Bounds
from evaluation.metrics.text_level.base import WrittenMetric
from evaluation.metrics.text_level.script_parser import ENTROPY_WORDS, n_gram_entropy
from schemas.answers import GeneratedText
from schemas.cases import Case
from schemas.probes import GenerateProbe


class NGramEntropy(WrittenMetric):
    """Weighted bigram and trigram entropy in bits of the first words of a script; low where a text repeats itself.

    Tables show it times 100, as published. Entropy grows with length, so every text is cut to as many words, and a
    shorter one is unscored and counted.
    """

    name: ClassVar[str] = "n_gram_entropy"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "GE"
    about: ClassVar[str] = (
        "Generation entropy times 100: mean of 2/3 bigram and 4/3 trigram entropy (bits) of a script's first "
        f"{ENTROPY_WORDS} words and signs"
    )
    better: ClassVar[Literal["higher", "lower"]] = "higher"
    unit: ClassVar[str] = "bits"
    bounds: ClassVar[Bounds] = NEVER_NEGATIVE

    def value(self, case: Case, probe: GenerateProbe, written: GeneratedText) -> float | str:
        """Bits, or that the text is too short."""
        bits = n_gram_entropy(written.text)
        return f"shorter than {ENTROPY_WORDS} words" if bits is None else bits
