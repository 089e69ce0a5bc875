"""Second moments of keys (the field says covariance): corpus, estimation, packs."""
