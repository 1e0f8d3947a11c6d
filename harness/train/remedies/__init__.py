"""One file a remedy; policy_gradient/remedy_roles.py says what it may do."""
