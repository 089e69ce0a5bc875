"""Checks by a language model: steps, prompts, second reader, store adapter."""
