"""Sequences of edits: the model itself along the way."""
