"""Rehearsal: the embedded default agent, scripted, without network or key, and real in all that it does.

``create`` makes its backend. Scenarios are data: ``scenarios/*.toml``, whose steps ``docs/rehearsal.md``
lists.
"""

from felan_core.agents.rehearsal.backend import RehearsalBackend, create

__all__ = ["RehearsalBackend", "create"]
