"""Faster passes on a processor: weights in its own order, and small steps as one function each."""
