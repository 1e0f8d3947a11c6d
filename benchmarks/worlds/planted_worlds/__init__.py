"""A plug-in of empathy-harness: worlds in which a claim is true or false by construction."""
