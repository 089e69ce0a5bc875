"""The pages of a lead: progress, agreement, adjudication."""
