"""Loops over numbers that are compiled, each with its twin in PyTorch elsewhere."""
