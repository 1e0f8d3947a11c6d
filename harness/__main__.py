"""The `harness` command, which `python -m harness` is too."""

import gc


def main() -> None:
    """Load the command line and run it."""
    gc.disable()  # nothing made by an import is garbage, and looking for some takes 4 ms of 66
    from harness import cli

    gc.freeze()
    gc.enable()
    cli.main()


if __name__ == "__main__":
    main()
