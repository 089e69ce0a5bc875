"""Checks by a language model: steps, prompts, what construction asks, store adapter."""
