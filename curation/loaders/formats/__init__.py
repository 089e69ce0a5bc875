"""One published format a file."""
