"""What edits do: models, editors, metrics, the runner, the report."""
