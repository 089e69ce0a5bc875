"""What raters' judgements agree on, as numbers and as a page."""
