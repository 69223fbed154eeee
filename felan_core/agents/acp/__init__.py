"""An agent backend that speaks the Agent Client Protocol, version 1, over a child's stdio."""
