"""Judges: language models that rate generated scripts on the paper's four aspects, blind to the method.

``steps`` says what is asked of each aspect, ``asking`` asks it, ``scores`` reads log-probabilities, ``material`` finds
scripts with what belongs to them, ``panel`` and ``summary`` say what came of it, ``canaries`` are items whose rating is
known, ``families`` tells a judge of the author's own family.
"""
