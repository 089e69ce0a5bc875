"""Control methods: no edit, boost, one answer to all; another edit in context; routes by wording alone."""

CONTROL_METHODS = frozenset({"none", "boost", "placebo", "say_unknown", "swapped", "wording"})
"""Editors that show what a metric rewards without editing: tables have them, nothing ranks or correlates them."""
