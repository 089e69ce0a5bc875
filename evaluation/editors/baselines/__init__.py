"""Null methods: no edit, boost."""

NULL_METHODS = frozenset({"none", "boost"})
"""Editors that show what a metric rewards without editing: tables have them, nothing ranks or correlates them."""
