"""Splits of events as releases: tables, summary, card."""
