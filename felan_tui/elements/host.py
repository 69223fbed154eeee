"""Separates the host's own elements, which have their own places on the screen, from all others."""

HOST_PREFIX = "felan."


def is_host_element(element_id: str) -> bool:
    """Whether the contract reserves the id for the host: `felan.pointer`, `felan.git` and so on (§5)."""
    return element_id.startswith(HOST_PREFIX)
