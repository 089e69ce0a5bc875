"""What an edit is, as data, and its two executors (in place, per row)."""
