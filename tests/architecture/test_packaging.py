"""Files for packagers, editors and GitHub say of versions and dependencies what each pyproject.toml says."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECTS = {
    path.parent.name if path.parent.parent.name == "plugins" else f"tg-{path.parent.name}": path
    for path in [*ROOT.glob("*/pyproject.toml"), *ROOT.glob("plugins/*/pyproject.toml")]
    if "version" in tomllib.loads(path.read_text()).get("project", {})
}
# of conda's packages: whose NumPy has no OpenBLAS of its own, and what C is compiled with
ONLY_CONDA = {"tg-core": {"scipy": ">=1.13"}, "tg-c": {"c-compiler": ""}}


def project(name: str) -> dict[str, Any]:
    return tomllib.loads(PROJECTS[name].read_text())["project"]  # type: ignore[no-any-return]


def loaded(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text())


def wanted(lines: list[str]) -> dict[str, str]:
    return {r.name: str(r.specifier) for r in (Requirement(line) for line in lines)}


def outputs() -> list[Any]:
    return [pytest.param(one, id=one["package"]["name"]) for one in loaded("recipe/recipe.yaml")["outputs"]]


@pytest.mark.parametrize("output", outputs())
def test_a_package_of_conda_needs_what_the_distribution_needs(output: Any) -> None:
    name = output["package"]["name"]
    about = project(name)
    needs = {**wanted(about["dependencies"]), "python": about["requires-python"], **ONLY_CONDA.get(name, {})}
    assert wanted(output["requirements"]["run"]) == needs
    assert wanted(output["requirements"]["host"])["python"] == about["requires-python"]
    builds = tomllib.loads(PROJECTS[name].read_text())["build-system"]["requires"]
    assert wanted(builds).items() <= wanted(output["requirements"]["host"]).items()
    script = output["build"]["script"].split()
    assert (ROOT / script[-1] / "pyproject.toml").resolve() == PROJECTS[name]


def test_versions_are_one() -> None:
    versions = {project(name)["version"] for name in PROJECTS}
    assert versions == {loaded("recipe/recipe.yaml")["context"]["version"]} == {loaded("CITATION.cff")["version"]}


def test_the_citation_has_the_fields_of_its_format() -> None:
    citation = loaded("CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "version", "license"} <= set(citation)
    assert citation["license"] == project("tg-core")["license"]
    assert all({"name"} == set(author) or {"family-names"} <= set(author) for author in citation["authors"])


@pytest.mark.parametrize("path", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda p: p.stem)
def test_a_form_for_issues_has_what_github_asks_for(path: Path) -> None:
    form = yaml.safe_load(path.read_text())
    assert {"name", "description", "body"} <= set(form)
    names = [part["id"] for part in form["body"]]
    assert len(set(names)) == len(names)
    for part in form["body"]:
        assert part["type"] in ("textarea", "input", "dropdown", "checkboxes", "markdown")
        assert part["attributes"]["label"]


def test_a_release_is_published_without_a_token() -> None:
    jobs = loaded(".github/workflows/publish.yml")["jobs"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in (ROOT / ".github/workflows/publish.yml").read_text()
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = [step["run"].split() for step in jobs["build"]["steps"] if "run" in step]
    assert {words[1] for words in commands if words[0] == "make"} <= targets


def test_the_container_copies_folders_that_exist_and_installs_them() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    copied = [line.split()[1] for line in lines if line.startswith("COPY")]
    assert all((ROOT / name).exists() for name in copied)
    (install,) = [line for line in lines if "pip install" in line]
    distributions = {name for name in copied if (ROOT / name / "pyproject.toml").exists()}
    assert set(re.findall(r"\./([\w/-]+)", install)) == distributions
    needed = {"core", "native", "plugins/tg-c"}
    assert distributions == needed


def test_the_container_of_editors_runs_a_target_of_the_makefile() -> None:
    settings = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    target = settings["postCreateCommand"].removeprefix("make ")
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    minimum = project("tg-core")["requires-python"].removeprefix(">=")
    assert settings["image"].endswith(f":{minimum}")
