"""Diagnose one run: is exploration exhausted, are facts lost, has its direction turned?"""
