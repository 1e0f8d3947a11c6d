"""Rules for the code as a whole: imports, lengths, names, and how files are written."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests import opened

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "harness"
HEAVY = ("hydra", "omegaconf", "torch", "pandas", "numpy", "rich", "scipy", "matplotlib", "trl")
LONGEST_FILE, LONGEST_FUNCTION = 350, 60


def imported_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.split()}


def test_the_command_line_imports_nothing_heavy() -> None:
    assert not imported_by("import harness.cli.app") & set(HEAVY)


def test_planning_does_not_pay_for_readers_or_trainers() -> None:
    modules = imported_by("from harness.compose import planner")
    assert not modules & {"torch", "pandas", "numpy", "matplotlib", "scipy", "trl", "rich"}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.name)
def test_files_and_functions_stay_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST_FILE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < LONGEST_FUNCTION, node.name


def test_no_test_imports_from_another() -> None:
    """What tests share is made by modules beside them, which say what they make."""
    shared = {
        f"{path.relative_to(TESTS)}: {node.module}"
        for path in TESTS.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and ".test_" in (node.module or "")
    }
    assert not shared


def test_no_two_modules_define_a_class_of_the_same_name() -> None:
    """Except private classes."""
    modules: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    assert {name: paths for name, paths in modules.items() if len(paths) > 1} == {}


def test_no_module_gives_a_name_twice() -> None:
    """A constant that another one of its name replaces is noticed by no linter."""
    twice = set()
    for path in (*PACKAGE.rglob("*.py"), *TESTS.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assigned = [node.targets for node in tree.body if isinstance(node, ast.Assign)]
        names = [one.id for targets in assigned for one in targets if isinstance(one, ast.Name)]
        twice |= {f"{path}: {name}" for name in names if names.count(name) > 1}
    assert not twice


PRIVATE_MODULES = {
    *("said", "visible", "room", "needs", "trying", "teaching", "own_files", "places", "idle"),
    *("endings", "stops", "rewording", "listing", "profiling", "probing", "beside", "gates"),
    *("sketches", "left_out", "judged"),
}
PRIVATE_CLASSES = {
    *("Talk", "Said", "Transcript", "Spoken", "Earned", "Standing", "StepAtHand", "Treatment"),
    *("Marks", "Treated", "Course", "Lesson"),
}
PRIVATE_IN_TRAINING = {"talk", "hold", "converse", "look", "draws", "hot", "cold"}
"""Words in names of functions, in harness/train alone: elsewhere one holds a lock, users converse,
and the numbers of a generator are draws.
"""


def private_names(module: str, tree: ast.Module) -> list[str]:
    """Return the names in one module that only this project would understand."""
    training = module.startswith("train/")
    classes = [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    functions = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    parts = module.removesuffix(".py").split("/")
    return [
        *(part for part in parts if part in PRIVATE_MODULES),
        *(name for name in classes if name.lstrip("_") in PRIVATE_CLASSES),
        *(name for name in functions if training and PRIVATE_IN_TRAINING & {*name.split("_")}),
    ]


def test_modules_classes_and_functions_have_names_of_the_field() -> None:
    private = {
        where: names
        for path in sorted(PACKAGE.rglob("*.py"))
        for where in [path.relative_to(PACKAGE).as_posix()]
        if (names := private_names(where, ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert not private, "use the field's words; docs/glossary.md lists those of this project"


@pytest.mark.parametrize(
    ("module", "code", "names"),
    [
        ("train/talk.py", "class Talk: ...", ["Talk"]),
        ("compose/places.py", "", ["places"]),
        (
            "places/grammar.py",
            "class _Spoken:\n    class Lesson: ...",
            ["places", "_Spoken", "Lesson"],
        ),
        ("train/loop/language.py", "class A:\n    def _hold_all(self): ...", ["_hold_all"]),
        ("records/run_folder.py", "def hold(): ...", []),
        ("train/objective/losses.py", "def holds(): ...\ndef threshold(): ...", []),
    ],
)
def test_a_private_name_is_noticed(module: str, code: str, names: list[str]) -> None:
    assert private_names(module, ast.parse(code)) == names


BESIDE_ATOMIC = {
    ("train/ledger/book.py", "np.savez_compressed(file, **arrays)"): "into memory",
    ("train/ledger/language_book.py", "np.savez_compressed(file, **arrays)"): "into memory",
    ("train/loop/kept_conversations.py", "np.savez_compressed(file, **arrays)"): "into memory",
    ("cli/exit_codes.py", "os.open(os.devnull, os.O_WRONLY)"): "nowhere",
    ("utils/process.py", "os.open(os.devnull, os.O_RDWR)"): "nowhere",
    ("utils/process.py", "open(descriptor, 'w', closefd=False)"): "a stream that is open already",
    ("records/run_lock.py", "os.open(path, FLAGS | os.O_CREAT, mode)"): "nothing is written",
    ("records/run_lock.py", "os.open(folder / NAME, FLAGS)"): "nothing is written",
    ("records/plain_file.py", "os.open(path, flags | os.O_NONBLOCK)"): "the flags of who reads",
    (
        "records/conversations.py",
        "pq.ParquetWriter(content, turn_table.schema, **options)",
    ): "into memory",
    ("records/conversations.py", "writer.write_table(turn_table)"): "into memory",
    (
        "train/loop/tabular_state.py",
        "np.save(file, table, allow_pickle=False)",
    ): "into memory",
    (
        "train/policy_gradient/critic.py",
        "np.savez(file, state=self.state, updates=np.array(self.updates))",
    ): "into memory",
    (
        "simulator/readers/head.py",
        "np.savez_compressed(content, about=np.array(json.dumps(metadata)), **stored)",
    ): "into memory",
    (
        "train/loop/checkpoint_copy.py",
        "torch.save(self._optimiser, inner / OPTIMIZER_NAME)",
    ): "pinned: the checkpoint's own new folder",
    ("train/loop/trl_adapter.py", "tempfile.TemporaryDirectory()"): "random, its user's alone",
    ("train/loop/rank_launcher.py", "tempfile.TemporaryDirectory()"): "random, its user's alone",
    ("train/trial/measure.py", "tempfile.TemporaryDirectory()"): "random, its user's alone",
    (
        "train/loop/trl_adapter.py",
        "torch.save(self.args, folder / TRAINING_ARGS_NAME)",
    ): "in the temporary folder",
    (
        "train/loop/trl_adapter.py",
        "torch.save(self.lr_scheduler.state_dict(), Path(output_dir) / SCHEDULER_NAME)",
    ): "in the temporary folder",
}
"""Calls that open for writing without records/atomic.py: file, call -> why that is harmless."""


def test_nothing_is_opened_for_writing_but_by_the_one_hardened_way() -> None:
    calls = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        where = path.relative_to(PACKAGE).as_posix()
        if where != "records/atomic.py" and not where.startswith("testing/"):  # writes as users do
            for line, call in opened.for_writing(ast.parse(path.read_text(encoding="utf-8"))):
                calls[where, call] = f"harness/{where}:{line}: {call}"
    beside = [source for key, source in calls.items() if key not in BESIDE_ATOMIC]
    assert not beside, "must go through harness/records/atomic.py:\n" + "\n".join(beside)
    assert not BESIDE_ATOMIC.keys() - calls.keys(), "exceptions that nothing needs any more"


@pytest.mark.parametrize(
    "code",
    [
        "open(p, 'w')",
        "open(p, mode='ab')",
        "open(p, m)",
        "io.open(p, 'r+')",
        "p.open('x')",
        "p.open(mode='w')",
        "p.write_text('x')",
        "(p / 'x').write_bytes(b'')",
        "p.touch()",
        "p.symlink_to(q)",
        "os.open(p, os.O_WRONLY)",
        "os.open(p, os.O_RDONLY | os.O_CREAT)",
        "os.open(p, FLAGS)",
        "from os import open as o\no(p, FLAGS)",
        "os.truncate(p, 0)",
        "np.save(p, x)",
        "import numpy\nnumpy.savez(p, x)",
        "pq.write_table(t, p)",
        "import pyarrow.parquet as parquet\nparquet.write_table(t, p)",
        "figure.savefig(p)",
        "frame.to_csv(p)",
        "shutil.copy(p, q)",
        "shutil.copytree(p, q)",
        "from shutil import move\nmove(p, q)",
        "tempfile.mkstemp()",
        "tempfile.NamedTemporaryFile()",
        "from tempfile import TemporaryDirectory\nTemporaryDirectory()",
        "torch.save(x, p)",
    ],
)
def test_every_kind_of_write_is_noticed(code: str) -> None:
    assert list(opened.for_writing(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        "open(p)",
        "open(p, 'rb')",
        "open(p, 'rb', opener=plain_file.opener)",
        "p.open()",
        "p.open(encoding='utf-8')",
        "simulator.open(keys)",
        "os.open(p, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)",
        "atomic.write_text(p, 'x')",
        "from harness.records import atomic\natomic.write_bytes(p, b'')",
        "tempfile.gettempdir()",
        "shutil.rmtree(p)",
    ],
)
def test_what_reads_and_the_hardened_way_pass(code: str) -> None:
    assert not list(opened.for_writing(ast.parse(code)))
