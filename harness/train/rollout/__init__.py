"""Conversations between a policy and simulated users, for every kind of policy."""
