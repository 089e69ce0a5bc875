"""How independent edits are made and probed: protocols, the reference engine, the fast engine."""
