"""Prompt files: the format and users' own."""
