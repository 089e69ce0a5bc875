"""The human quality sample of a split: draw, sheets, report."""
