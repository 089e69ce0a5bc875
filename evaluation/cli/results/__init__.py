"""Commands of the group ``results``: what finished runs say beyond their report."""
