"""What a language model's run needs of a GPU's memory, estimated before anything is loaded."""
