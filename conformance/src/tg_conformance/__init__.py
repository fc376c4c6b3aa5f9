"""The conformance suite of tg: what a backend must compute, and the report of what it does.

    pytest -p tg_conformance --pyargs tg_conformance.suite --backend mine

The pytest plugin is loaded by name, never through an entry point.
"""

pytest_plugins = ["tg_conformance.pytest_plugin"]
