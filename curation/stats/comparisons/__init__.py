"""Paired comparisons: which of two is better, or neither, and the strengths that follow."""
