"""Trackers of experiments, by name; none is required, and none is imported before it is named."""

from schemas.core.registry import Registry

TRACKERS = Registry("tracker", shipped=("wandb", "mlflow", "trackio"))
"""Trackers by name; others add theirs through the entry-point group ``scedit.tracker``."""
