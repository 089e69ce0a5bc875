"""Commands that send files to a hub."""
