"""Search of a method's settings."""
