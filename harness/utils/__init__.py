"""What any part needs and no library has: processes, safe text, the installation."""
