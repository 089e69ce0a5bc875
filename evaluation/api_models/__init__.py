"""Models behind a chat endpoint, edited by their prompt."""
