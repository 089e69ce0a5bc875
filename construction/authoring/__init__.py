"""One fact through the models: what was written, where it stands, how it counts."""
