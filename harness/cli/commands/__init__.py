"""The commands as Typer reads them: signature, help, call. What a command does is its own file."""
