"""Forward passes: scoring, generation, batching, prefix cache, partial forward, token trees."""
