"""The paper's text-level metrics without a judge, one a file."""
