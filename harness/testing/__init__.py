"""Helpers that tests, benchmarks and plug-ins share; nothing else in harness imports them.

Runs of known truth (synthetic, cells) and their folders (run_folders), attacks on a simulator, the
contract suites of extensions (*_contract), the command as a user runs it, pages as a reader has
them (browser). Some of it needs pytest, a development dependency.
"""
