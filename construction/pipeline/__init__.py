"""Many facts to a store: plan, session, progress, cost estimate, several authors, adoption."""
