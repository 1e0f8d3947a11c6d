"""The user the policy talks to. numpy at most; no torch."""
