"""Language models that come as packages of the package index, for policies and readers alike."""
