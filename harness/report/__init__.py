"""What an analysis looks like: tables on a terminal, figures, and files to keep."""
