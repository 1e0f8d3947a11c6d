"""Tables for papers: what is escaped, and that the numbers are those of the CSV."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.report.tables import csv_files, typeset
from harness.report.tables.languages import TypesetTable, in_latex, in_markdown, latex, markdown
from harness.report.text import wording
from harness.testing.payloads import PAYLOADS
from harness.utils.safe_text import escape
from tests.report import made
from tests.report.made_figure_kinds import everything
from tests.report.made_tables import study

COMMANDS = re.compile(
    r"\\textbackslash\{\}|\\text(?:asciicircum|asciitilde|less|greater|bar)\{\}|\{\\char\d\d\}"
    r"|\\[{}$&#_%]|\{[\[\]*]\}|\{\}"
)
"""All that an escaped text may hold of LaTeX's own."""


def table(*rows: tuple[str, ...], left: int = 1) -> TypesetTable:
    return TypesetTable("law", ("run", "a"), left, rows, ("on reward",))


@given(st.text(max_size=40) | st.sampled_from(PAYLOADS))
def test_no_character_of_a_name_is_read_by_latex(text: str) -> None:
    escaped = in_latex(text)
    assert escaped.isascii()
    assert escaped.isprintable()
    plain = COMMANDS.sub("", escaped)
    assert not set(plain) & set("\\{}$&#_%^~<>|\"'`[]*")
    assert "--" not in escaped
    assert ",," not in escaped


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a_b & 50%", r"a\_b \& 50\%"),
        (r"\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
        ("[0.5] --x", r"{[}0.5{]} -{}-x"),
        ("caf\u00e9\u202e", r"caf\textbackslash{}xe9\textbackslash{}u202e"),
    ],
)
def test_a_name_in_latex(text: str, escaped: str) -> None:
    assert in_latex(text) == escaped


@given(st.text(max_size=40) | st.sampled_from(PAYLOADS))
def test_a_name_stays_one_cell_of_markdown_without_markup(text: str) -> None:
    escaped = in_markdown(text)
    assert "\n" not in escaped
    assert re.sub(r"\\([\\`*_\[\]<>#|~$&@./])", r"\1", escaped) == escape(text)
    assert not re.search(r"(?<!\\)(\\\\)*[`*_\[\]<>|]", escaped)
    assert "://" not in escaped


def test_a_table_in_latex() -> None:
    assert latex(table(("r_1", "-0.10 [-0.20, 0.00]"))).splitlines() == [
        "% The numbers are those of law.csv; needs the package booktabs.",
        "% on reward",
        r"{\footnotesize\setlength{\tabcolsep}{3pt}%",
        r"\begin{tabular}{@{}lr@{}}",
        r"\toprule",
        r"run & a \\",
        r"\midrule",
        r"r\_1 & \begin{tabular}[t]{@{}r@{}}$-$0.10\\{[}$-$0.20, 0.00{]}\end{tabular} \\",
        r"\bottomrule",
        r"\end{tabular}}",
    ]


def test_a_cell_of_latex_is_parted_at_intervals_and_commas_that_are_no_interval_s() -> None:
    text = latex(table(("easy, null control", "100% [19%, 100%], 3 of 3, 1 open")))
    assert r"{@{}l@{}}easy,\\null control\end{tabular}" in text
    assert r"{@{}r@{}}100\%\\{[}19\%, 100\%{]}\\3 of 3\\1 open\end{tabular}" in text


def test_a_table_in_markdown() -> None:
    assert markdown(table(("r|1", "-0.10 [-0.20, 0.00]"))).splitlines() == [
        "| run | a |",
        "| :-- | --: |",
        r"| r\|1 | -0.10 [-0.20, 0.00] |",
        "",
        "on reward  ",
    ]


def test_more_rows_than_a_page_holds_are_a_longtable() -> None:
    assert "longtable" not in latex(table(*[(f"r{n}", "1.00") for n in range(40)]))
    assert "longtable" in latex(table(*[(f"r{n}", "1.00 [0, 2]") for n in range(21)]))
    text = latex(table(*[(f"r{n}", "1.00") for n in range(41)]))
    assert r"\begin{longtable}{@{}lr@{}}" in text
    assert r"\endhead" in text
    assert "needs the package booktabs and longtable" in text


def _can_compile() -> bool:
    """Whether there are pdflatex and booktabs."""
    if shutil.which("pdflatex") is None or shutil.which("kpsewhich") is None:
        return False
    return subprocess.run(["kpsewhich", "booktabs.sty"], capture_output=True).returncode == 0


@pytest.mark.skipif(
    not _can_compile(),
    reason="no pdflatex with booktabs: apt-get install texlive-latex-recommended",
)
def test_latex_compiles_every_table_within_the_page_and_reads_no_name(tmp_path: Path) -> None:
    tables = {
        **typeset.typeset_files(study(), ("tex",)),
        **typeset.typeset_files(everything(), ("tex",)),
    }
    assert {"law.tex", "levels.tex", "contrasts.tex", "listening.tex"} <= set(tables)
    names = [(payload, "-0.10 [-0.20, 0.00]") for payload in PAYLOADS]
    tables["hostile.tex"] = latex(TypesetTable("law", ("run", "a"), 1, tuple(names), ()))
    for name, text in tables.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    inputs = "\n\n".join(rf"\input{{{name}}}\clearpage" for name in tables if "hostile" not in name)
    (tmp_path / "all.tex").write_text(PAGE % inputs)
    (tmp_path / "names.tex").write_text(PAGE % r"\input{hostile.tex}")
    logs = {}
    for page in ("all", "names"):
        words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{page}.tex"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout[-2000:]
        logs[page] = done.stdout
    assert "Overfull" not in logs["all"]


PAGE = r"""\documentclass{article}
\usepackage{booktabs}
\usepackage{longtable}
\setlength{\textwidth}{469pt}
\setlength{\parindent}{0pt}
\begin{document}
%s
\end{document}
"""
"""With text 6.5 inches wide, as on letter paper with margins of an inch."""


def test_a_note_cannot_leave_its_comment() -> None:
    noted = TypesetTable("law", ("run",), 1, (("a",),), ("on x\n\\input{y}",))
    assert not any(line.startswith("\\input") for line in latex(noted).splitlines())


def test_the_numbers_are_those_of_the_csv() -> None:
    analysis = everything()
    text = typeset.typeset_files(analysis, ("md",))["law.md"]
    for row in csv.DictReader(io.StringIO(csv_files.law_csv(analysis))):
        value, low, high = (float(row[f"ceiling{end}"]) for end in ("", "_low", "_high"))
        assert wording.estimate(value, low, high) in text


def test_tables_without_rows_are_not_written() -> None:
    one = made.analysis([made.fitted("r/0")])
    assert set(typeset.typeset_files(one, ("tex", "md"))) == {"law.tex", "law.md"}
    assert typeset.typeset_files(one, ()) == {}
    assert typeset.typeset_files(made.analysis([], [made.unread("a", "a: no")]), ("tex",)) == {}


def test_every_table_has_as_many_cells_as_headings() -> None:
    for kind, text in typeset.typeset_files(everything(), ("tex",)).items():
        rows = [line for line in text.splitlines() if line.endswith(r"\\")]
        cells = {len(re.findall(r"(?<!\\)&", row)) for row in rows}
        assert len(cells) == 1, kind
