"""Bytes on disk that survive a kill: journal, atomic writes, disk-backed collections, artifact cache."""
