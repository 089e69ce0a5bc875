"""What items share: near-duplicates inside a store, contamination between collections."""
