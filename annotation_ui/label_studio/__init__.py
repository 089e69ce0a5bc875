"""The only folder that knows Label Studio: client, server, config, import validation."""
