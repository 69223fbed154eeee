"""What several rooms' tests need: a terminal that reads the screen, and real agents on loopback."""
