"""The run folder: the only thing that the producing and the reading half share."""
