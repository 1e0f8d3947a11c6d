"""Language models that are installed as packages from PyPI, for policies and readers."""
