"""What the cases of a split are worth: whether they tell methods apart."""
