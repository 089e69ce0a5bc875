"""Documents as facts, so that methods for facts can edit them in (MULFE §5.2): strategies by name."""

from schemas.core.registry import Registry

SIMPLIFIERS = Registry("simplifier", shipped=("file", "ner_qg", "openie", "qg", "stated"))
"""Strategies by name; others add theirs through the entry-point group ``scedit.simplifier``."""
