"""The rater's page in pieces: the form of an item, what is saved, and one's own answers."""
