"""What people do with probes of documents: curate them, review their levels (MULFE §4.3 and Appendix A.3)."""
