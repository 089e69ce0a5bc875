"""Benchmarks of single facts whose probes ask for the consequences: each edit is a document with its statements."""
