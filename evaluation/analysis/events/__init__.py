"""What a run on events shows beside its metrics: routing, the answer "unknown", whole events by their questions."""
