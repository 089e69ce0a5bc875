"""Probes of what an edit means: negated, true or false, multiple choice; of the fact and in its scripts."""
