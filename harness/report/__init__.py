"""Tables and figures; they draw what they are given and compute nothing."""
