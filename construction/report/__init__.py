"""What a store's construction came to: funnel, cost, page."""
