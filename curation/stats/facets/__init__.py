"""A many-facet ordinal model: what a panel would say of each method, freed from who happened to rate what."""
