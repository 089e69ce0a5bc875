"""The human quality sample of a split: draw and report."""
