"""What draws a language model's turns, and scores what was said."""
