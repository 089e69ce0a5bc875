"""Calls: what can go wrong with one, what is going on, and many at once."""
