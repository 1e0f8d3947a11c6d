"""Helpers shared by tests, benchmarks and plug-ins. The rest of harness does not import them.

Runs with a known truth (synthetic, cells) and their folders (run_folders), attacks on a simulator,
contract suites for extensions (*_contract), the command as users run it, pages in a browser. Some
modules need pytest, a development dependency.
"""
