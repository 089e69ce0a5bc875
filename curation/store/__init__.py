"""DuckDB and nothing else; the only SQL."""
