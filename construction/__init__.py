"""Construction: from facts to script questions, scripts and script prompts, with checks on each."""
