"""The start card: what a person sees when no agent is configured, with one key for each offer."""

from felan_tui.start.card import LastSession, StartCard, StartScreen

__all__ = ["LastSession", "StartCard", "StartScreen"]
