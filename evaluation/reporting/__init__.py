"""What a report is made of, one part a file; ``evaluation.report`` puts the parts together."""
