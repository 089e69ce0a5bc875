"""Checks over a store that need a language model or a tokenizer; they write verdicts, the split's rule decides."""
