"""Locate-and-edit methods."""
