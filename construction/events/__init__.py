"""Construction of events: templates filled by a seeded draw, paraphrases, tendency events and questions (ELKEN §3)."""
