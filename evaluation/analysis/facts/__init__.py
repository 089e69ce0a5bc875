"""What a run on facts shows beside its metrics: free text, the methods' order, strictness of locality."""
