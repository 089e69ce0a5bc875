"""What a report is made of, one part a file; ``evaluation.report.write`` puts the parts together."""
