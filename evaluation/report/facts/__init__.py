"""The report's section on free text, the methods' order and strict locality, and its pictures."""
