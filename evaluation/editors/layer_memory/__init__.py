"""Methods that keep edits in a memory beside one layer and switch it on prompt by prompt: GRACE and WISE."""
