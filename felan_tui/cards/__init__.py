"""Interaction cards: what a session asks a person, and how it is answered without accidents.

`CardStack` (`felan_tui.cards.stack`) is what a screen holds; the messages are in `felan_tui.cards.messages`.
"""
