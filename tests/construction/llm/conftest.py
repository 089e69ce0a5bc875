"""How tests ask a model for a number."""

from tests.support.construction.asked_numbers import ask

__all__ = ["ask"]
