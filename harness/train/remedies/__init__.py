"""Remedies, one per file; policy_gradient/remedy_roles.py has the roles they can play."""
