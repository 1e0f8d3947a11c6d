"""A pre-stated question with its arms, its null controls and a verdict: docs/studies.md."""
