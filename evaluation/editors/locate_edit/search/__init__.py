"""The search for values: vectors which, written at one place, make a model say something else."""
