"""Methods that only change the prompt."""
