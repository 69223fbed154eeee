"""The composer: where a person writes. It decides what Enter means, and loses nothing that was typed."""

from felan_tui.composer.composer import Composer
from felan_tui.composer.draft import Draft

__all__ = ["Composer", "Draft"]
