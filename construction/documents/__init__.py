"""Construction of probes: a model writes them about documents; checks and a reader judge them (MULFE §4)."""
