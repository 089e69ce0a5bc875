"""What to call a text that a model wrote: it follows from the model, and from the kind of model its prompt is for."""

from __future__ import annotations

from curation.files.local_models import LOCAL_LABEL
from curation.files.model_packages import EMBEDDED_LABEL
from schemas.lineage import SMOKE_TEST

SMALL_MODELS = frozenset({EMBEDDED_LABEL, LOCAL_LABEL})
"""Models that we know to be small, as records name them."""
SMALL_PROFILES = frozenset({"embedded", "local"})
"""Profiles of prompts that a small model needs: a task for each question, a fixed form for each script."""


def text_quality(model: str, profile: str = "", *, named: str | None = None) -> str | None:
    """The quality that lineage states of a text; None where nothing is to be said.

    A small model writes a smoke test whatever it is asked with, and so does any model that is asked with prompts for
    small ones; of all else, a prompt of the user's own may name a quality.

    Args:
        model: The model, as records name it.
        profile: The profile that the prompt was written for.
        named: What the prompt file itself says.

    Example:
        >>> text_quality(EMBEDDED_LABEL, "paper"), text_quality("gpt-4.1", "local"), text_quality("gpt-4.1", "paper")
        ('plumbing', 'plumbing', None)
        >>> text_quality("gpt-4.1", "mine", named="draft")
        'draft'
    """
    if model in SMALL_MODELS or profile in SMALL_PROFILES:
        return SMOKE_TEST
    return named
