"""Documents, the probes that ask for them, what they are simplified to, and what a model must keep (MULFE)."""
