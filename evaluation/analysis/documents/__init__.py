"""What a run on documents shows beside its metrics: the paper's tables, EM by tag, the frontier, batches by size."""
