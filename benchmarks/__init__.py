"""Speed as ratios in one run against a named peer: `make bench`."""
