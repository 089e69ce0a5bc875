"""The pages of the rating app."""
