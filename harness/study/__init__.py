"""Studies: a preregistered question with arms, null controls and a verdict (docs/studies.md)."""
