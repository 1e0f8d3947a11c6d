"""The start model of policy=tiny: built once, cached."""
