"""Language models behind one door: steps (what to ask), client (how), cache (once), the embedded model.

Imports nothing else of ``construction``, so that the judge of ``evaluation`` can use it.
"""
