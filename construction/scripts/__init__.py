"""The LLM steps of script benchmarks and the cut."""
