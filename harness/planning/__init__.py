"""Power before training: how many seeds decide a stated difference, and what they cost."""
