"""Numbers that the construction of probes begins with; the command and the functions read them here."""

FEWEST, MOST = 10, 20
"""Probes of a document that are asked for in one call (MULFE §4.2)."""
MOST_WORDS = 12
"""Words of an answer. Of the 1,844 answers in our copy of the published evaluation part 2 are longer."""
ALIKE = 0.9
"""Two probes of a document with one answer and a ROUGE-1 F of their queries above it are one."""
