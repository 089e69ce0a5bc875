"""The local server of the embedded model."""
