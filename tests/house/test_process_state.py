"""No test changes the clock, the signals or the temporary folder of its whole process.

Event loops, time limits, threads and the tests after it would go by them. A test replaces the clock of one module
(`setattr(module, "time", ...)`), or starts a process of its own.
"""

import ast
from collections.abc import Iterator

from tests.house.tree import modules

EXEMPT = {"tests/support/limits.py"}
"""It prepares the process before the first test."""

MODULES = {"time", "datetime", "signal", "tempfile"}
FORBIDDEN = {
    *(
        f"signal.{name}"
        for name in ("signal", "setitimer", "alarm", "pthread_sigmask", "siginterrupt", "set_wakeup_fd")
    ),
    *("signal.raise_signal", "time.tzset", "time.clock_settime", "time.clock_settime_ns", "os.chdir", "os.umask"),
}
CLOCK_LIBRARIES = {"freezegun", "time_machine", "libfaketime"}
VARIABLES = {"TMPDIR", "TEMP", "TMP", "TZ"}
CHANGES_ENVIRONMENT = {"setenv", "delenv", "putenv", "unsetenv", "setitem", "delitem"}
CHANGES_MAPPING = {"pop", "setdefault", "update", "__setitem__"}


def changes(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the words of each change."""
    imported = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.asname or alias.name.partition(".")[0]: alias.name if alias.asname
                         else alias.name.partition(".")[0] for alias in node.names}  # fmt: skip
        if isinstance(node, ast.ImportFrom):
            imported |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in ast.walk(tree):
        if _is_change(node, imported):
            yield node.lineno, ast.unparse(node)  # type: ignore[attr-defined]


def _is_change(node: ast.AST, imported: dict[str, str]) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom():
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            return any(name.partition(".")[0] in CLOCK_LIBRARIES for name in names)
        case ast.Assign(targets=targets):
            return any(_is_shared(target, imported) for target in targets)
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            return _is_shared(target, imported)
        case ast.Delete(targets=targets):
            return any(_is_shared(target, imported) for target in targets)
        case ast.Call():
            return _is_changing_call(node, imported)
    return False


def _is_shared(target: ast.AST, imported: dict[str, str]) -> bool:
    """True for `time.monotonic`, `tempfile.tempdir`, `os.environ["TMPDIR"]` on the left of an assignment."""
    if isinstance(target, ast.Attribute):
        return _is_module(_name(target.value, imported))
    return (
        isinstance(target, ast.Subscript)
        and _name(target.value, imported) == "os.environ"
        and _constant(target.slice) in VARIABLES
    )


def _is_changing_call(call: ast.Call, imported: dict[str, str]) -> bool:
    function = _name(call.func, imported)
    method = function.rpartition(".")[2]
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    if function in FORBIDDEN or method in ("add_signal_handler", "remove_signal_handler"):
        return True
    if function in ("os.kill", "os.killpg") and len(arguments) == 2:
        own = {"os.getpid()", "os.getpgrp()", "os.getpgid(0)", "0"}
        number = _name(arguments[1], imported)
        return ast.unparse(arguments[0]) in own and number != "signal.SIGKILL" and _constant(arguments[1]) != 0
    if method in ("setattr", "delattr", "patch", "object") and arguments:
        target = _constant(arguments[0]) or _name(arguments[0], imported)
        return _is_module(target.rpartition(".")[0] if isinstance(_constant(arguments[0]), str) else target)
    if method in CHANGES_ENVIRONMENT:
        return any(_constant(argument) in VARIABLES for argument in arguments[:2])
    if method in CHANGES_MAPPING and function.startswith("os.environ."):
        words = {_constant(node) for argument in arguments for node in ast.walk(argument)}
        return bool((words | {keyword.arg for keyword in call.keywords}) & VARIABLES)
    return False


def _is_module(name: str) -> bool:
    """True for a module of the standard library, also as another module knows it: `crawler.session.time`."""
    last = name.rpartition(".")[2]
    return last in MODULES or name in ("datetime.datetime", "datetime.date")


def _name(node: ast.AST, imported: dict[str, str]) -> str:
    """Return the dotted name of an expression, with its first part as it was imported."""
    match node:
        case ast.Name(id=name):
            return imported.get(name, name)
        case ast.Attribute(value=value, attr=attribute):
            return f"{_name(value, imported)}.{attribute}"
    return ""


def _constant(node: ast.AST) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def test_no_test_changes_what_its_process_shares() -> None:
    assert [f"{module.name}:{line}: {words}" for module in modules("tests") if module.name not in EXEMPT
            for line, words in changes(module.tree)] == []  # fmt: skip


PLANTED = """\
time.monotonic = lambda: 0.0
monkeypatch.setattr(time, 'time', lambda: 0.0)
monkeypatch.setattr('time.monotonic', lambda: 0.0)
monkeypatch.setattr(sender.time, 'monotonic', lambda: 0.0)
monkeypatch.setattr(datetime, 'datetime', Frozen)
mock.patch('time.time')
mock.patch.object(time, 'time')
import freezegun
from time_machine import travel
signal.signal(signal.SIGTERM, handler)
from signal import alarm as wake; wake(1)
import signal as s; s.setitimer(s.ITIMER_REAL, 1)
os.kill(os.getpid(), signal.SIGINT)
loop.add_signal_handler(15, stop)
tempfile.tempdir = '/elsewhere'
monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
os.environ['TMPDIR'] = str(tmp_path)
from os import environ; environ['TMPDIR'] = ''
os.environ.update({'TMPDIR': ''})
os.environ.update(TMPDIR='')
os.environ.pop('TMPDIR')
del os.environ['TMPDIR']
monkeypatch.setenv('TMPDIR', str(tmp_path))
monkeypatch.setitem(os.environ, 'TMPDIR', '')
os.chdir(tmp_path)
"""
ALLOWED = """\
monkeypatch.setattr('crawler.session.time', clock)
process.send_signal(signal.SIGINT)
os.kill(pid, signal.SIGSTOP)
os.kill(os.getpid(), signal.SIGKILL)
subprocess.run(command, env=os.environ | {'TMPDIR': str(tmp_path)})
monkeypatch.setenv('SSL_CERT_FILE', path)
began = time.monotonic()
"""


def test_a_change_is_found_and_nothing_else() -> None:
    assert [line for line in PLANTED.splitlines() if not list(changes(ast.parse(line)))] == []
    assert [line for line in ALLOWED.splitlines() if list(changes(ast.parse(line)))] == []
