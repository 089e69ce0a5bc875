"""A run: configuration, plan, runner, results on disk, support, workers."""
