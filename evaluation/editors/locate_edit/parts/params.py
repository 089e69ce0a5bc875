"""Options that the methods share, each declared once.

A method's ``Params`` names these classes as its bases, the one whose fields come first last: a run's manifest holds the
fields in that order.
"""

from __future__ import annotations

from pydantic import Field

from evaluation.covariance.corpus import local_files
from schemas.core.config import Options


class ValueSearchParams(Options):
    """How the value is searched for (``value_search``), and in which contexts.

    Attributes:
        steps: Evaluations of the loss in the search (one more than updates).
        lr: Adam's learning rate.
        kl_weight: Weight of the divergence on "{} is a".
        weight_decay: Weight of |δ|/|v₀|².
        clamp: δ stays within this many |v₀|.
        stop_below: Loss at which the search ends.
        templates: Context templates, each ending in ``{}``, the first a bare ``{}``; None: sampled from the model.
        template_lengths: Pairs (tokens, how many) for sampling.
    """

    steps: int = Field(default=25, ge=1)
    lr: float = Field(default=0.5, gt=0)
    kl_weight: float = Field(default=0.0625, ge=0)
    weight_decay: float = Field(default=1e-3, ge=0)
    clamp: float = Field(default=4.0, gt=0)
    stop_below: float = 0.05
    templates: tuple[str, ...] | None = None
    template_lengths: tuple[tuple[int, int], ...] = ((5, 10), (10, 10))


class CovarianceParams(Options):
    """Where the keys' second moments come from (``covariance_source``).

    Attributes:
        corpus: Text file(s) for them, or ``hub:NAME...``; None: the shipped corpus.
        cap: Most tokens of one document.
        moments: File of ready second moments (``KeyCovariance.save``, or a pack), instead of a corpus.
        ridge: Added to their diagonal, as a share of its mean; needed where the corpus has fewer tokens than a key
            entries.
    """

    corpus: tuple[str, ...] | str | None = None
    cap: int | None = Field(default=None, ge=1)
    moments: str | None = None
    ridge: float = Field(default=0.0, ge=0)

    @property
    def files(self) -> tuple[str, ...]:
        """Local files that are read for them."""
        return (self.moments,) if self.moments else local_files(self.corpus)
