"""A short trial of a policy on a device, with made-up conversations: memory, speed, precision."""
