"""Methods that send each question to one event of a memory, or to none."""
