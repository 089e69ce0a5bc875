"""A plug-in for scedit: one method, one metric, one loader, one check, one rating task."""
