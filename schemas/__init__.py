"""What things are: records, identities, mentions, registries. Imports pydantic and the standard library only."""
