"""From a split to other people's formats, card, metadata, release folder."""
