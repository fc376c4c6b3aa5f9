"""`tg new-backend` and `tg new-op` write distributions that install and pass their own tests at once."""

import os
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from xml.etree import ElementTree as ET

import pytest
import yaml
from packaging.requirements import Requirement

import tg
from tg.cli import main
from tg.cli.new_backend import primitives, with_rules


@pytest.fixture
def written(tmp_path, monkeypatch, capsys):
    """Run a command in an empty folder: the exit status, the folder, what it prints to the standard error."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        status = main(arguments)
        return status, tmp_path, capsys.readouterr().err

    return run


def install(source, site):
    """Install a distribution in a folder of its own: the environment of the tests stays as it is."""
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-build-isolation", "--no-index", "-q"]
    subprocess.run([*command, "--target", site, source], check=True, capture_output=True)


def own_tests(source, site, *arguments):
    """Run the tests of a distribution with what is installed in a folder."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("TG_", "PYTEST"))}
    environ = {**inherited, "PYTHONPATH": str(site)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=source, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "name", "package", "count"),
    [("new-backend", "my-lib", "tg_my_lib", 7), ("new-op", "my-ops", "tg_my_ops", 4)],
)
def test_what_is_written_passes_its_tests_once_installed(written, command, name, package, count):
    status, folder, _ = written(command, name)
    assert status == 0
    source, site = folder / f"tg-{name}", folder / "site"
    install(source, site)
    assert (site / package / "py.typed").exists()
    done = own_tests(source, site)
    assert done.returncode == 0, done.stdout[-4000:]
    assert int(done.stdout.rpartition(" passed")[0].rpartition("\n")[2]) >= count


DECLARED = """
from tg.backend import Gap, Nonzero, arithmetic
from tg import NoRuleError

GAPS = (
    Gap(arithmetic.cbrt, None, None, "upstream", NoRuleError, "the library has no cube root"),
    Gap(Nonzero, None, None, "never", NoRuleError, "the library knows all lengths when it compiles"),
)
"""


@pytest.mark.long
def test_what_is_written_passes_its_tests_with_gaps_that_are_declared(written):
    _, folder, _ = written("new-backend", "my-lib")
    package, site = folder / "tg-my-lib/src/tg_my_lib", folder / "site"
    for file, line in (
        ("elementwise/arithmetic", "    ops.cbrt: ml.cbrt,\n"),
        ("indexing", "    ops.Nonzero: performed,\n"),
    ):
        rules = package / f"rules/{file}.py"
        assert line in rules.read_text()
        rules.write_text(rules.read_text().replace(line, ""))
    (package / "gaps.py").write_text(DECLARED)
    install(package.parents[1], site)
    done = own_tests(package.parents[1], site)
    assert done.returncode == 0, done.stdout[-4000:]


def test_what_is_needed_has_bounds_that_hold_now(written):
    for command in ("new-backend", "new-op"):
        _, folder, _ = written(command, "my-lib")
        facts = tomllib.loads((folder / "tg-my-lib/pyproject.toml").read_text())["project"]
        needed = [Requirement(text) for text in (*facts["dependencies"], *facts["optional-dependencies"]["test"])]
        for one in needed:
            assert one.specifier.contains(metadata.version(one.name), prereleases=True), str(one)
            assert any(s.operator in ("<", "~=") for s in one.specifier) or one.name == "pytest"
        shutil.rmtree(folder / "tg-my-lib")


@pytest.mark.long(minutes=8)
@pytest.mark.timeout(1800)  # it runs what a workflow of minutes runs, beside whatever else there is
def test_the_workflow_of_a_new_backend_passes(strangers, tmp_path):
    assert strangers("tg new-backend ci", tmp_path).returncode == 0
    source = tmp_path / "tg-ci"
    (job,) = yaml.safe_load((source / ".github/workflows/test.yml").read_text())["jobs"].values()
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert [command.split()[0] for command in commands] == ["pip", "pytest", "tg"]
    for command in commands:
        done = strangers(command + " --every 30" * command.startswith("tg "), source)  # all takes a quarter of an hour
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    cases = list(ET.parse(source / "reports/conformance.xml").iter("testcase"))
    assert len(cases) > 300
    assert all(str(case.get("classname")).startswith("conformance.ci") for case in cases)  # no path


@pytest.mark.parametrize("command", ["new-backend", "new-op"])
def test_nothing_of_the_template_is_left(written, command):
    _, folder, _ = written(command, "my-lib")
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 8
    for path in files:
        assert "sample" not in str(path.relative_to(folder))
        assert "sample" not in path.read_text()
        if path.suffix == ".py":
            compile(path.read_text(), path, "exec")


def test_a_backend_has_a_file_for_each_family_and_a_line_for_each_op(written):
    _, folder, _ = written("new-backend", "mine")
    rules = folder / "tg-mine/src/tg_mine/rules"
    families = list(with_rules())
    assert {str(path.relative_to(rules)) for path in rules.rglob("*.py") if path.name != "__init__.py"} == {
        f"{family.path}.py" for family in families
    }
    for family in families:
        text = (rules / f"{family.path}.py").read_text()
        assert text.count("\n    ops.") == len(family.elementwise) + len(primitives(family))


def test_the_rules_that_are_written_have_no_lint(written):
    _, folder, _ = written("new-backend", "mine")
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "E,F,W,UP,B", "--line-length", "120"]
    done = subprocess.run([*command, folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("My Lib", "name: found 'My Lib', needed lower-case words joined by -\n  hint: such as my-lib"),
        ("2d", "name: found '2d', needed lower-case words joined by -\n  hint: such as d"),
        ("", "name: found '', needed lower-case words joined by -\n  hint: such as my-library"),
        ("../x", "name: found '../x', needed lower-case words joined by -\n  hint: such as x"),
        ("tg-mine", "name: found 'tg-mine', which would make the distribution tg-tg-mine\n  hint: mine"),
    ],
)
@pytest.mark.parametrize("command", ["new-backend", "new-op"])
def test_a_name_that_cannot_be_one_is_refused(written, command, name, told):
    status, folder, error = written(command, name)
    assert (status, error) == (1, f"tg {command}: {told}\n")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "name", "owner"),
    [
        ("new-backend", "auto", "backend='auto' chooses one"),
        ("new-backend", "py", "a backend of tg-core"),
        ("new-op", "indexing", "a family of operations has it"),
        ("new-op", "perform", "a backend has it"),
    ],
)
def test_a_name_that_is_taken_is_refused(written, command, name, owner):
    status, folder, error = written(command, name)
    assert (status, error) == (1, f"tg {command}: name: {name!r} is taken: {owner}\n")
    assert list(folder.iterdir()) == []


def test_a_folder_that_holds_something_is_not_overwritten(written, tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "kept").write_text("kept")
    status, folder, error = written("new-op", "waves", "--folder", "here")
    assert status == 1
    assert "folder: here is there already, and is not overwritten" in error
    assert [path.name for path in folder.rglob("*")] == ["here", "kept"]


def test_an_empty_folder_is_filled(written, tmp_path):
    (tmp_path / "here").mkdir()
    assert written("new-op", "waves", "--folder", "here")[0] == 0
    assert (tmp_path / "here" / "src" / "tg_waves" / "waves.py").exists()


def test_a_backend_that_is_not_installed_is_told_before_anything_runs(written):
    status, _, error = written("conformance", "--backend", "my-lib")
    assert status == 1
    assert error.startswith("tg conformance: backend 'my-lib': not installed")
    assert "my-lib" not in {one.name for one in tg.backends()}
