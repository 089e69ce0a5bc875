"""Knowledge-editing benchmarks from Python: read facts, build a split, edit a model, evaluate methods."""
