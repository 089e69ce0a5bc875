"""JSON and JSONL records one at a time, each with its place."""
