"""Plan a study before training: how many seeds decide a stated difference, and their cost."""
