"""What to begin with. It stands alone, so that the first paint needs nothing of the client."""

from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Start:
    """``ask``: the start card; ``agent``: a new session with ``settings``; ``continue``: the folder's last
    one.

    ``prompt`` is sent as soon as the session is there.
    """

    kind: Literal["ask", "agent", "continue"]
    cwd: str
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    prompt: str | None = None
