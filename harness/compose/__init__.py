"""Composition: from words and YAML to checked configs, by Hydra."""
