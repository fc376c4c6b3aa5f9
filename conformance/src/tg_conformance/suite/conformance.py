"""What pytest finds in this folder: an item for each case and backend; see `tg_conformance.pytest_plugin`."""
