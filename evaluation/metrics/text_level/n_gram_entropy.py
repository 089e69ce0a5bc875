"""GE, generation entropy of written scripts (the measure of ROME's published code, used in ScEdit §4.3)."""

from __future__ import annotations

from evaluation.metrics.base import NEVER_NEGATIVE, row
from evaluation.metrics.text_level.base import WrittenMetric
from evaluation.metrics.text_level.script_parser import ENTROPY_WORDS, n_gram_entropy
from schemas.answers import GeneratedText
from schemas.cases import Case


def entropy(case: Case, written: GeneratedText) -> float | str:
    """Bits of the first words, or that the text is too short: entropy grows with length, so all are cut to as many."""
    bits = n_gram_entropy(written.text)
    return f"shorter than {ENTROPY_WORDS} words" if bits is None else bits


NGramEntropy = row(
    WrittenMetric,
    name="n_gram_entropy",
    title="GE",
    about=(
        "Generation entropy times 100: mean of 2/3 bigram and 4/3 trigram entropy (bits) of a script's first "
        f"{ENTROPY_WORDS} words and signs"
    ),
    better="higher",
    unit="bits",
    bounds=NEVER_NEGATIVE,
    measure=entropy,
)
