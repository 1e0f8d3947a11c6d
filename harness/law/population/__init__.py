"""What the seeds of a level say of the seeds it could have had: one answer per level."""
