"""What a run is: its keys, their types, ranges and defaults."""
