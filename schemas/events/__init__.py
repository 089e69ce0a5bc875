"""Events and the questions that are asked about them (event-level editing, ELKEN §2 and Appendix A)."""
