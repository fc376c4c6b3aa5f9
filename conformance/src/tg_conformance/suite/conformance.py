"""Collect conformance tests: an item for each case and backend; see `tg_conformance.pytest_plugin`."""
