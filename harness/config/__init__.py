"""The config of a run: its keys, with their types, ranges, defaults and meanings."""
