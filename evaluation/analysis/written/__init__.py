"""What the models of a run wrote."""
