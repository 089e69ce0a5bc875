"""Judges: language models that rate generated scripts on the paper's four aspects, blind to the method.

``steps`` builds the prompt of each aspect, ``judging`` asks the judge, ``weighted_score`` reads log-probabilities,
``inputs`` reads scripts from a store, ``reliability`` summarises and calibrates the ratings, ``control_items`` holds
items whose rating is known, ``model_families`` flags a judge of the same family as the model that it rates.
"""
