"""The start card: what a person sees when no agent is configured, with one key for each offer."""
