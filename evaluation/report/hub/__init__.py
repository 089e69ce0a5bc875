"""Results as they go to a hub."""
