"""From paths to the points of a run: discovery, readers, cleaning."""
