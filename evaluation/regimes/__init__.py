"""How many edits stand in the model when it is asked: single, batch, sequential."""
