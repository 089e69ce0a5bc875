"""Rounds of work: items, assignment, answers into the store, gold set."""
