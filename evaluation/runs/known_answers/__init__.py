"""Answers that earlier runs gave and that count again: of the unedited model, and of another version of a split."""
