"""How a request travels: live, Batch API, rate limits, secrets."""
