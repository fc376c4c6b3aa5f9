"""The folder that is given to pytest: the plugin collects the cases in place of `conformance.py`."""
