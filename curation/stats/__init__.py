"""Statistics shared by checks, people, judges and editors."""
