"""Two scripts of one question side by side: which is better on an aspect."""
