"""Tables of sequences of edits."""
