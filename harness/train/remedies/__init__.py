"""One file a remedy; harness.train.roles says what it may do, docs/remedies.md compares them."""
