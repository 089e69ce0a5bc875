"""Metrics over the probes of documents: exact match, perplexity, written answers (MULFE)."""
