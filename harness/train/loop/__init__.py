"""Training loops for the tabular policy and language models, and the session that both use."""
