"""MEND: network, training, shipped weights."""
