"""Edits that leave the program: the edited model, an adapter of PEFT, or the changes as data, with a model card."""
