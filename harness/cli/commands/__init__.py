"""The commands as Typer reads them: signature, help and a call. Their code is in harness/cli."""
