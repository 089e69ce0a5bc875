"""Metrics over questions about events (event-level editing, ELKEN §4.1): facts, tendencies by choice, whole events."""
