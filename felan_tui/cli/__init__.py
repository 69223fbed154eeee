"""The felan command; each subcommand imports what it needs when it runs."""
