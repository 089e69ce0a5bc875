"""The commands of this package, one group a file; imported by the command line only."""
