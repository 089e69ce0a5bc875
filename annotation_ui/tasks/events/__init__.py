"""What people are asked about events: tendencies, what an event changes, paraphrases (ELKEN Appendix A, Table 12)."""
