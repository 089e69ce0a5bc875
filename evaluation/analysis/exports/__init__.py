"""Finished runs as flat tables for other programs."""
