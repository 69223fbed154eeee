"""The task pointer: its rules, its file, compare-and-set; imports nothing of the rest."""
