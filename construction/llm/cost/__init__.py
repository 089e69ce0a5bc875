"""Prices and hard budgets."""
