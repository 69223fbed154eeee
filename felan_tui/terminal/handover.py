"""What a launcher that had the terminal before the app passes on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Handover:
    """``typed``: bytes that were read from the terminal and belong to the app. ``painted``: the alternate
    screen is on already and shows a first frame, which is not to be cleared.
    """

    typed: bytes = b""
    painted: bool = False
