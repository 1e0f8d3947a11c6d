"""Conversations between a policy and simulated users, for every rung of policy."""
