"""Questions that all cases of a run share: asked once a state of the model, kept as arrays."""
