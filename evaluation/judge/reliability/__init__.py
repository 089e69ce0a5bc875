"""Whether a judge can be believed: panel, rubric, calibration."""
