"""Open answers to questions about events: what is shown to a judge, its typed replies, its ratings, control items."""
