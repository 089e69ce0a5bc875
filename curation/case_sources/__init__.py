"""The cases of a run or a method: opened by name, chosen from a split, made to learn from, kept apart."""
