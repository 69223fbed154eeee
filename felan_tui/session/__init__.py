"""What the screen does with its session: what it shows of the replica, and what it asks of the host."""
