"""Import logs of other programs: one module per format, and one table of column aliases."""
