"""Methods that turn one gradient into an edit by linear algebra alone: nothing is trained, nothing is searched for."""
