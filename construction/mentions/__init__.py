"""Where an object is mentioned for construction: whole names, other words spelt alike, longer names, derived names."""
