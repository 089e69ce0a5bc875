"""What every record stands on: base classes, ids, errors, configuration, registries."""
