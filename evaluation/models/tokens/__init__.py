"""Texts as tokens: prompts with their targets, remembered, and cut where that changes none."""
