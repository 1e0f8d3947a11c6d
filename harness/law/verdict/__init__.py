"""Does the law hold, and what would decide where it is open."""
