"""Pure functions on text that define the benchmark: mentions, folding, masking, escaping."""
