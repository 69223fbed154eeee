"""Private files and folders, and the advice for an error of the disk. The standard library alone."""
