"""Facts an edit must not move: same object, near subjects, their vectors."""
