"""Runs of one method that differ by chance only."""
