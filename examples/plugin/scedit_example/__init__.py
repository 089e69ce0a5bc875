"""A plug-in for scedit: three methods, one metric, one loader, one check, one rating task."""
