"""Numbers of the paper that the construction of events begins with; the command and the functions read them here."""

CAP = 300.0
"""No entity is drawn as if it occurred more often (ELKEN A.1)."""
UNTOUCHED = 5
"""Factual questions out of scope of an event, at most (ELKEN A.1)."""
THRESHOLD = 0.4
"""Two events of topics with a ROUGE-1 F above it are one (ELKEN A.2)."""
INSIDE, OUTSIDE = 6, 2
"""Tendency questions of an event, in and out of scope (ELKEN Table 10)."""
EVENTS, EVENTS_PER_TOPIC = 100, 100
"""Events of a template, and of a topic (ELKEN A.1, A.2)."""
