"""Training loops, and the session that both share."""
