"""What the edited model writes after fact prompts, and what it would write under teacher forcing."""
