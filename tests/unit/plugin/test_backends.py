"""Finding a backend: by name and alias, and every way in which one can be missing."""

import json

import pytest

import tg
from tg.errors import BackendUnavailable, PluginError
from tg.plugin.certificates import certified
from tg.plugin.discovery import Entry


def told(error):
    return str(error.value)


def test_a_backend_is_found_by_its_name_and_by_its_alias(world):
    world.add_backend("mine", fields={"aliases": ("my",)})
    registry = world.registry()
    assert registry.backend("mine") is registry.backend("my")
    assert registry.backend("py").name == "perform"


def test_an_unknown_backend_is_an_error_that_lists_those_that_exist(world):
    world.add_backend("mine")
    with pytest.raises(BackendUnavailable) as caught:
        world.registry().backend("nothing-like-it")
    assert told(caught) == (
        "backend 'nothing-like-it': not installed: found mine, perform\n  hint: run `tg backends` for what is known"
    )


def test_a_misspelled_backend_is_an_error_that_names_the_near_match(world):
    with pytest.raises(BackendUnavailable, match="hint: backend='perform' exists"):
        world.registry().backend("performs")


def test_the_name_of_a_device_is_an_error_that_names_the_option(world):
    world.add_backend("mine")
    for name in ("cuda", "gpu", "tpu"):
        with pytest.raises(BackendUnavailable, match=f"backend '{name}': found a device, needed one of mine, perform"):
            world.registry().backend(name)
    with pytest.raises(BackendUnavailable, match="hint: backends run on the processor unless told otherwise"):
        world.registry().backend("cpu")


def test_the_hint_about_a_device_is_an_option_that_there_is():
    with pytest.raises(BackendUnavailable, match="found a device") as caught:
        tg.backend("cuda")
    hint = told(caught).partition("hint: ")[2].partition(";")[0]
    if "pip install" not in hint:
        exec(hint.replace("cuda", "cpu"), {"tg": tg})  # which every machine has


@pytest.mark.parametrize("name", ["c", "jax", "mlx", "numba", "torch"])
def test_a_backend_published_with_tg_that_is_missing_is_an_error_that_says_how_to_install_it(world, name):
    with pytest.raises(BackendUnavailable) as caught:
        world.registry().backend(name)
    assert told(caught) == f'backend {name!r}: not installed\n  hint: pip install "tg-core[{name}]"'


def test_a_backend_that_cannot_be_imported_is_an_error_with_the_remembered_cause(world):
    world.add_missing("tg-mine", "mine", "backends")
    registry = world.registry()
    causes = []
    for _ in range(2):
        with pytest.raises(BackendUnavailable) as caught:
            registry.backend("mine")
        causes.append(caught.value.__cause__)
    assert told(caught) == (
        "backend 'mine': tg-mine 1.0: importing no_such_module_anywhere raised ModuleNotFoundError: "
        "No module named 'no_such_module_anywhere'\n  hint: pip install --upgrade --force-reinstall tg-mine"
    )
    assert causes[0] is causes[1]


def test_a_broken_backend_breaks_no_other(world):
    world.add_missing("tg-broken", "broken", "backends")
    world.add_missing("tg-broken-ops")
    world.add_backend("mine")
    registry = world.registry()
    assert (registry.backend("mine").name, dict(registry.rules("mine"))) == ("mine", {})


def test_a_plugin_that_leaves_python_while_it_is_imported_is_only_broken(world, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "fake_leaving.py").write_text("raise SystemExit(3)")
    world.entries.append(Entry("tg-leaving", "leaving", "backends", "fake_leaving", "1.0"))
    with pytest.raises(BackendUnavailable, match="raised SystemExit: 3"):
        world.registry().backend("leaving")


def test_a_backend_with_a_misspelled_hook_is_a_plugin_error(world):
    world.add("tg-mine", "mine", kind="backends", tg_backend=lambda: ())
    with pytest.raises(PluginError, match=r"tg-mine 1\.0: tg_backend is not a hook"):
        world.registry().backend("mine")


def test_two_providers_of_one_backend_are_an_error_that_names_both(world):
    world.add_backend("mine")
    world.add_backend("mine", distribution="tg-yours")
    with pytest.raises(PluginError) as caught:
        world.registry().backend("mine")
    assert told(caught) == (
        "backend 'mine' has 2 providers: tg-mine 1.0 and tg-yours 1.0\n"
        "  hint: uninstall one, or start with TG_PLUGINS_OFF=tg-yours"
    )
    assert world.registry(TG_PLUGINS_OFF="tg-yours").backend("mine").distribution == "tg-mine"


def test_two_providers_of_one_alias_are_an_error_that_names_both(world):
    world.add_backend("mine", fields={"aliases": ("m",)})
    world.add_backend("yours", fields={"aliases": ("m",)})
    with pytest.raises(PluginError, match=r"backend 'm' has 2 providers: tg-mine 1\.0 and tg-yours 1\.0"):
        world.registry().backend("m")
    assert world.registry().backend("yours").name == "yours"


def test_the_name_of_a_backend_of_core_stays_cores(world):
    world.add_backend("perform", distribution="tg-thief")
    registry = world.registry()
    assert registry.backend("perform").distribution == "tg-core"
    assert [str(problem) for problem in registry.problems()] == [
        "tg-thief 1.0: backend name 'perform' is tg-core's own\n  hint: rename the entry point and the backend"
    ]


def test_an_entry_without_its_backend_is_an_error_that_shows_what_is_there(world):
    other = world.backend("other")
    world.add("tg-mine", "mine", kind="backends", tg_backends=lambda: (other,))
    with pytest.raises(PluginError) as caught:
        world.registry().backend("mine")
    assert told(caught) == ("tg-mine 1.0: entry point 'mine' has no backend\n  tg_backends  found other, needed mine")


def test_one_module_may_provide_two_backends(world):
    both = (world.backend("first"), world.backend("second"))
    world.module("fake_pair", tg_backends=lambda: both)
    world.entries += [Entry("tg-pair", name, "backends", "fake_pair", "1.0") for name in ("first", "second")]
    registry = world.registry()
    assert (registry.backend("first"), registry.backend("second")) == both


@pytest.mark.parametrize("value", [None, [], ("mine",)])
def test_what_is_not_a_tuple_of_backends_is_an_error(world, value):
    world.add("tg-mine", "mine", kind="backends", tg_backends=lambda: value)
    with pytest.raises(PluginError):
        world.registry().backend("mine")


@pytest.mark.parametrize(
    ("api", "upgrade"), [("2", "pip install --upgrade tg-core"), ("0", "pip install --upgrade tg-mine")]
)
def test_a_backend_for_another_hook_api_is_reported_unimported_with_the_package_to_upgrade(world, api, upgrade):
    world.add_missing("tg-mine", "mine", "backends", api=api)
    registry = world.registry()
    with pytest.raises(BackendUnavailable) as caught:
        registry.backend("mine")
    assert told(caught) == (
        f"backend 'mine': tg-mine 1.0: written for hook API {api}, this tg has 1\n  hint: {upgrade}"
    )
    assert [problem.state for problem in registry.problems()] == ["wrong API"]


def test_a_plugin_for_two_hook_apis_is_used_under_this_one(world):
    world.add_missing("tg-mine", "mine", "backends", api="2")
    world.add_backend("mine")
    registry = world.registry()
    assert (registry.backend("mine").name, registry.problems()) == ("mine", ())


def test_a_forbidden_backend_is_an_error_that_names_the_variable(world):
    world.add_backend("mine")
    with pytest.raises(BackendUnavailable) as caught:
        world.registry(TG_PLUGINS_OFF="mine").backend("mine")
    assert told(caught) == (
        "backend 'mine': tg-mine 1.0: forbidden by TG_PLUGINS_OFF=mine\n  hint: start without it in TG_PLUGINS_OFF"
    )


def test_the_backend_of_core_cannot_be_forbidden(world):
    registry = world.registry(TG_PLUGINS="tg-none", TG_PLUGINS_OFF="tg-core,perform")
    assert registry.backend("perform").name == "perform"


def test_asking_for_one_backend_imports_no_other(world):
    world.add_backend("mine")
    world.add_backend("yours", tg_backends=lambda: pytest.fail("yours was asked"))
    assert world.registry().backend("mine").name == "mine"


def test_every_backend_that_is_known_is_listed_with_its_state(world):
    world.add_backend("numba", fields={"aliases": ("nb",), "requires": ("minelib>=2",)})
    world.add_backend("mine")
    world.add_backend("off")
    world.add_missing("tg-later", "later", "backends", api="2")
    world.add_missing("tg-torch", "torch", "backends")
    listed = world.registry(TG_PLUGINS_OFF="off").backends()
    assert [(one.name, one.distribution, one.state) for one in listed] == [
        ("c", "tg-c", "not installed"),
        ("jax", "tg-jax", "not installed"),
        ("later", "tg-later", "wrong API"),
        ("mine", "tg-mine", "available"),
        ("mlx", "tg-mlx", "not installed"),
        ("numba", "tg-numba", "broken"),
        ("off", "tg-off", "forbidden"),
        ("perform", "tg-core", "available"),
        ("torch", "tg-torch", "broken"),
    ]


def test_a_listed_backend_tells_its_aliases_its_reason_and_its_remedy(world):
    world.add_backend("mine", fields={"aliases": ("my",), "requires": ("minelib>=2",)})
    (mine,) = [one for one in world.registry().backends() if one.name == "mine"]
    assert (mine.aliases, mine.version, mine.reason, mine.remedy) == (
        ("my",),
        "1.0",
        "needs minelib>=2 (found nothing)",
        'pip install "minelib>=2"',
    )


def test_listing_imports_a_linker_only_to_probe(world):
    world.add_backend("mine", fields={"linker": "no_such_linker:LINKER"})
    registry = world.registry()
    states = [{one.name: one.state for one in registry.backends(probe=probe)}["mine"] for probe in (False, True, False)]
    assert states == ["available", "broken", "broken"]


def test_problems_name_what_the_environment_names_in_vain(world):
    assert [str(problem) for problem in world.registry(TG_PLUGINS="tg-nothing").problems()] == [
        "environment: TG_PLUGINS or TG_PLUGINS_OFF names tg-nothing, which is not installed"
    ]


CERTIFICATE = {"backend": "mine", "version": "1.0", "tg": tg.__version__, "engines": {"minelib": "2.0"}, "level": 3}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (json.dumps(CERTIFICATE), "level 3"),
        (
            json.dumps({**CERTIFICATE, "items": [69026, 69026], "ops": {"rule": 400, "host": 3}}),
            "level 3, 69,026 of 69,026 items, 3 ops by the host",
        ),
        (json.dumps({**CERTIFICATE, "engines": {"minelib": "1.9"}}), "level 3, but with minelib 1.9"),
        (json.dumps({**CERTIFICATE, "tg": "0.0.1", "version": "0.9"}), "level 3, but with tg-core 0.0.1, tg-mine 0.9"),
        (json.dumps({**CERTIFICATE, "backend": "other"}), "found a certificate of other"),
        ("", "found a certificate of None"),
        (None, ""),
    ],
)
def test_a_certificate_is_shown_beside_what_is_installed(tmp_path, monkeypatch, text, told):
    package = tmp_path / "certified_package"
    package.mkdir()
    (package / "__init__.py").touch()
    if text is not None:
        (package / "certificate.json").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    entry = Entry("tg-mine", "mine", "backends", "certified_package", "1.0")
    assert certified(entry, "mine", {"minelib": "2.0"}) == told
