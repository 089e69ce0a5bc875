"""Null methods: no edit, boost."""
