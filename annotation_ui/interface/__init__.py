"""The words of the rating app, a file a language."""
