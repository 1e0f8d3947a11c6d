"""Groups of runs held against each other, over their seeds."""
