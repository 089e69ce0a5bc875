"""Every answer of runs, to look at: the list in the report, and a page of its own with filters."""
