"""The SQLite file: live answers, raters, sessions."""
