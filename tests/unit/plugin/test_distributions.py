"""What is installed, as `importlib.metadata` tells it."""

import re
import sys
import zipfile
from importlib import metadata
from importlib.metadata import DistributionFinder

import pytest

from tg.plugin import distributions
from tg.plugin.distributions import Point, entry_points, version

OURS = re.compile(r"tg\..+")
POINTS = """\
# a remark
[console_scripts]
mine = tg_mine.cli:main

[tg.backends.1]
mine = tg_mine
other=tg_mine.other:plugin [extra]

[tg.extensions.2]
later = tg_mine.later
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that is searched before all others."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def record(folder, stem, name, number="1.0", points=POINTS, suffix=".dist-info", file="METADATA"):
    info = folder / (stem + suffix)
    info.mkdir(parents=True)
    (info / file).write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n\nName: of the text\n")
    if points:
        (info / "entry_points.txt").write_text(points)


def mine(number="1.0", name="tg-mine"):
    return [
        Point("tg.backends.1", "mine", "tg_mine", name, number),
        Point("tg.backends.1", "other", "tg_mine.other:plugin [extra]", name, number),
        Point("tg.extensions.2", "later", "tg_mine.later", name, number),
    ]


def found(name="tg-mine"):
    return [point for point in entry_points(OURS) if point.distribution == name]


def test_everything_installed_here_is_found_as_the_standard_library_finds_it():
    everything = re.compile(".*")
    assert set(entry_points(everything)) == set(distributions._told_points(everything))
    assert {d.name: version(d.name) for d in metadata.distributions()} == {
        d.name: metadata.version(d.name) for d in metadata.distributions()
    }


def test_the_points_of_a_distribution_are_those_of_the_groups_asked_for(folder):
    record(folder, "tg_mine-1.0", "tg-mine")
    assert found() == mine()


def test_a_folder_that_setuptools_wrote_is_read(folder):
    record(folder, "tg_mine", "tg-mine", suffix=".egg-info", file="PKG-INFO")
    assert found() == mine()


def test_a_record_that_is_a_file_has_a_version_and_no_points(folder):
    (folder / "tg_mine-3.1.egg-info").write_text("Metadata-Version: 1.0\nName: tg-mine\nVersion: 3.1\n")
    assert (version("tg-mine"), found()) == ("3.1", [])


def test_of_two_distributions_of_one_name_the_first_on_the_path_counts(folder, monkeypatch):
    record(folder / "first", "TG.Mine-2.0", "TG.Mine", "2.0")
    record(folder / "second", "tg_mine-1.0", "TG.Mine", "1.0")
    monkeypatch.setattr(sys, "path", [str(folder / "first"), str(folder / "second"), *sys.path])
    assert (found("TG.Mine"), version("tg-mine")) == (mine("2.0", "TG.Mine"), "2.0")


def test_a_record_without_a_version_says_so(folder):
    info = folder / "tg_mine.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text("[tg.backends.1]\nmine = tg_mine\n")
    assert Point("tg.backends.1", "mine", "tg_mine", "unknown", "unknown") in entry_points(OURS)
    assert version("tg-mine") is None


def test_the_backport_of_the_standard_library_finds_no_others(folder):
    pytest.importorskip("importlib_metadata")
    record(folder, "tg_mine-1.0", "tg-mine")
    assert not distributions._has_other_finders()
    assert found() == mine()


def test_what_is_not_installed_has_no_version():
    assert version("no-such-distribution") is None


def test_a_zip_file_on_the_path_is_searched(folder, monkeypatch):
    record(folder / "inside", "tg_mine-1.0", "tg-mine")
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        for file in (folder / "inside").rglob("*"):
            archive.write(file, file.relative_to(folder / "inside"))
    monkeypatch.setattr(sys, "path", [str(folder / "all.zip"), *sys.path])
    assert sorted(found()) == sorted(mine())
    assert (version("tg-mine"), version("no-such-distribution")) == ("1.0", None)


def test_other_finders_are_asked(folder, monkeypatch):
    record(folder / "hidden", "tg_mine-1.0", "tg-mine")

    class Finder(DistributionFinder):
        def find_spec(self, name, path=None, target=None):
            return None

        def find_distributions(self, context=None):
            return [metadata.PathDistribution(folder / "hidden" / "tg_mine-1.0.dist-info")]

    assert found() == []
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    assert sorted(found()) == sorted(mine())


def test_folders_that_cannot_be_listed_are_passed_over(folder, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(folder / "absent"), *sys.path])
    record(folder, "tg_mine-1.0", "tg-mine")
    assert sorted(found()) == sorted(mine())
