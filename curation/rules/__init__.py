"""From verdicts to the cases of a split, and why an item is in or out."""
