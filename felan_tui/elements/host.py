"""Tells the host's own elements, which have their own places on the screen, from those of agents and extensions."""

HOST_PREFIX = "felan."


def is_host_element(element_id: str) -> bool:
    """Whether the id is one that the contract reserves for the host: `felan.pointer`, `felan.git` and so on (§5)."""
    return element_id.startswith(HOST_PREFIX)
