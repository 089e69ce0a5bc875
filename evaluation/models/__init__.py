"""A decoder as data: weights, tokenizer, architecture, hooks; scores nothing itself."""
