"""One file a remedy; algorithms/remedy_roles.py says what it may do."""
