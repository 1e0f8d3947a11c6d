"""Rendering of the page: templates that escape all text, data as JSON.

The page contains one script and one style sheet, both shipped here and allowed by their hashes; its
Content-Security-Policy forbids everything else, including the network. So text that got past the
escaping could still load nothing and run nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from harness.utils.safe_text import escape

TEMPLATES = Path(__file__).parent / "templates"
IN_SCRIPT = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
"""Characters that could end a script element or a line in it -> an equivalent JSON escape."""


def page(name: str, **values: Any) -> bytes:
    """Render the template `name`. Equal values give equal bytes."""
    style, script = _read_template("style.css"), _read_template("page.js")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    html = (
        _environment()
        .get_template(name)
        .render(style=Markup(style), script=Markup(script), policy=policy, **values)
    )
    return html.encode("utf-8")


def macro(template: str, name: str) -> Callable[[Any], Markup]:
    """Return a macro of a template as a function of one value."""
    module = _environment().get_template(template).module
    function: Callable[[Any], Markup] = getattr(module, name)
    return function


def data(value: Any) -> Markup:
    """Return `value` as JSON that is safe in a script element: no `<`, no control character."""
    text = json.dumps(
        _escape_all(value), allow_nan=False, ensure_ascii=False, separators=(",", ":")
    )
    return Markup("".join(IN_SCRIPT.get(char, char) for char in text))


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_escape_all,
    )
    environment.filters["data"] = data
    return environment


def _escape_all(value: Any) -> Any:
    """Escape invisible characters in all strings that `value` contains, except our own markup."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, dict):
        return {escape(str(name)): _escape_all(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_escape_all(part) for part in value]
    return value


def _read_template(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
