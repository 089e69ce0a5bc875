"""The paper's token-level metrics, one a file."""
