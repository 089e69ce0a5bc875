"""What we keep: the store, journals, loaders, splits, statistics, and the data that we ship."""
