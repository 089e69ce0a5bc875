"""Judges: language models that rate generated scripts and open answers, blind to the method.

``inputs`` reads texts from a store or a run, ``steps`` builds the prompt of each rubric and reads the reply,
``judging`` asks, control items among them, ``ratings`` and ``summary`` say how reliable a judge is, ``calibration``
holds it against people, ``model_families`` flags a judge of the rated model's family.
"""
