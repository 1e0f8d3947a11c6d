"""Demo runs, each constructed to show one regime (`harness demo`)."""
