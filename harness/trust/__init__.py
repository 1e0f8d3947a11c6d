"""Which secret may be sent to which host."""
