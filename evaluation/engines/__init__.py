"""How independent edits are made and probed: protocols, reference, fast."""
