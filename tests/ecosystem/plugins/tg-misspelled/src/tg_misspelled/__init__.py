"""A plugin whose author mistyped the name of a hook."""

from tg.plugin import hookimpl


@hookimpl
def tg_rulez(backend):
    """Is meant to be tg_rules."""
