"""Tables on a terminal and in CSV files."""
