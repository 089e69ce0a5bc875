"""The contract of a check over a store, what verdicts it left, how good a leak check is."""
