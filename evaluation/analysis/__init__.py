"""Figures from stored answers; draws nothing."""
