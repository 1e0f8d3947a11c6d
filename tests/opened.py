"""Find calls that open a path for writing without records/atomic.py, by their syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterator

WRITES_OF_A_PATH = {"write_text", "write_bytes", "touch", "symlink_to", "hardlink_to"}
WRITES_OF_A_MODULE = {
    "os": {"truncate", "mkfifo", "mknod", "link", "symlink"},
    "np": {"save", "savez", "savez_compressed", "savetxt"},
    "numpy": {"save", "savez", "savez_compressed", "savetxt"},
    "pq": {"write_table", "ParquetWriter"},
    "shutil": {"copy", "copy2", "copyfile", "copytree", "copymode", "move"},
    "torch": {"save"},
}
WRITES_OF_ANYTHING = {"savefig", "to_csv", "to_parquet", "tofile", "write_table"}
READING_FLAGS = {"O_RDONLY", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"}
OWN = {"atomic"}
"""Modules whose functions of these names are the way that is meant."""


def for_writing(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and source of each call that may write to a path."""
    names = _imported(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _writes(node, names):
            yield node.lineno, ast.unparse(node)


def _imported(tree: ast.Module) -> dict[str, str]:
    """Return the full name of each imported name."""
    origins = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                origins[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                origins[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
    return origins


def _writes(call: ast.Call, names: dict[str, str]) -> bool:
    function = call.func
    if isinstance(function, ast.Name):
        module, _, name = names.get(function.id, function.id).rpartition(".")
        return _of_module(module, name, call)
    if not isinstance(function, ast.Attribute):
        return False
    owner = function.value.id if isinstance(function.value, ast.Name) else ""
    module = names.get(owner, owner)
    if module.rpartition(".")[2] in OWN:
        return False
    if _of_module(module, function.attr, call) or _of_module(owner, function.attr, call):
        return True
    if function.attr in WRITES_OF_A_PATH | WRITES_OF_ANYTHING:
        return True
    return function.attr == "open" and module not in ("os", "io") and _writing_mode(call, at=0)


def _of_module(module: str, name: str, call: ast.Call) -> bool:
    if module == "os" and name == "open":
        return _writing_flags(call)
    if name == "open" and module in ("", "io", "builtins", "gzip", "bz2", "lzma", "codecs"):
        return _writing_mode(call, at=1)
    if module == "tempfile":
        return name not in ("gettempdir", "gettempprefix")
    short = "pq" if module == "pyarrow.parquet" else module
    return name in WRITES_OF_A_MODULE.get(short, ())


def _writing_mode(call: ast.Call, at: int) -> bool:
    """A mode that is no literal may be any; `.open(X)` of something else than a path has none."""
    modes = [word.value for word in call.keywords if word.arg == "mode"] + call.args[at : at + 1]
    if not modes:
        return False
    mode = modes[0]
    if isinstance(mode, ast.Constant):
        return isinstance(mode.value, str) and not set(mode.value) <= set("rbtU")
    return at == 1 or any(word.arg == "mode" for word in call.keywords)


def _writing_flags(call: ast.Call) -> bool:
    """Flags that are anything but names known to read."""
    words = [word.value for word in call.keywords if word.arg == "flags"]
    flags = (call.args[1:2] or words or [ast.Constant(0)])[0]
    return any(
        not (isinstance(part, ast.Attribute) and part.attr in READING_FLAGS)
        for part in _parts(flags)
    )


def _parts(flags: ast.expr) -> Iterator[ast.expr]:
    if isinstance(flags, ast.BinOp) and isinstance(flags.op, ast.BitOr):
        yield from _parts(flags.left)
        yield from _parts(flags.right)
    elif not (isinstance(flags, ast.Constant) and flags.value == 0):
        yield flags
