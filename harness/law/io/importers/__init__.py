"""Logs of other programs as rows: one file a format, and one table of the names they use."""
