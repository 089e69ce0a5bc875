"""A run spread over processes and machines: workers that hold the model, and the engine that hands them work."""
