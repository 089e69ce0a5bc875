"""Judges: language models that rate generated scripts and open answers, blind to the method.

``inputs`` reads texts from a store, ``steps`` builds the prompt of each rubric, ``replies`` reads what a judge says,
``judging`` asks, ``session`` runs it all, ``stored_ratings`` and ``reliability`` summarise and calibrate the ratings,
``control_items`` holds items whose rating is known, ``model_families`` flags a judge of the rated model's family.
"""
