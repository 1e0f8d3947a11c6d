"""The files of a run folder: the only interface between training and analysis."""
