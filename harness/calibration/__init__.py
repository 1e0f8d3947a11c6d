"""How demanding users are, measured: a level goes in, its difficulty card comes out."""
