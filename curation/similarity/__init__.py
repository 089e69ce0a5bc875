"""How alike two texts are; knows no store."""
