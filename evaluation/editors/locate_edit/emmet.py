"""EMMET (Gupta et al. 2024, "A Unified Framework for Model Editing"): a batch of facts, each written exactly."""

from __future__ import annotations

from typing import ClassVar

from evaluation.editors.locate_edit.memit import Memit


class Emmet(Memit):
    """ROME's equality constraint for many facts at once: Δ = R (KᵀC⁻¹K + αI)⁻¹ KᵀC⁻¹ (§4, Eq. 13).

    It is MEMIT's closed form with λ = α near 0, as Woodbury's identity shows: α = 0 writes every layer's part whole,
    0.1 is the published guard against keys that are nearly the same.
    """

    name: ClassVar[str] = "emmet"
    about: ClassVar[str] = "a batch of facts written exactly, disturbing plain text least (EMMET)"

    class Params(Memit.Params):
        """Options of EMMET: those of MEMIT; ``lam`` is α (published: 0.1)."""

    params: Params
