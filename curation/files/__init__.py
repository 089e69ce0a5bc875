"""Bytes on disk that survive a kill: journal, atomic writes, artifact cache."""
