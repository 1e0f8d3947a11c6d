"""Small texts that take for ever to read, for those who read them whole."""


def alias_bomb() -> str:
    """YAML of nine levels below 1 kB, each nine times the one before: 9^9 values."""
    lines = ["a0: &a0 [x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    return "\n".join(lines)
