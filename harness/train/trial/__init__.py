"""A short trial of a policy on a device, on artificial conversations: memory, speed, precision."""
