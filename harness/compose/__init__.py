"""Composition of checked configs from command-line overrides and YAML, by Hydra."""
