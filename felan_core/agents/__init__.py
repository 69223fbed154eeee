"""Agent backends: one interface, and each kind of agent that implements it."""
