"""The seam between core and its plugins: six hooks, the records they return, and the registry that merges them.

A plugin's author needs `hookimpl` and the records; the contract is `tg.plugin.hookspecs`. Core asks `registry()`.
"""

from tg.plugin.hookspecs import hookimpl, hookspec
from tg.plugin.options import validate_options
from tg.plugin.records import (
    HOOK_API,
    Backend,
    BackendStatus,
    Exporter,
    Gap,
    NoRules,
    Options,
    Problem,
    Rewrites,
    RuleProtocol,
    Rules,
)
from tg.plugin.registry import Registry, registry, reset, unsaid

__all__ = (
    "HOOK_API",
    "Backend",
    "BackendStatus",
    "Exporter",
    "Gap",
    "NoRules",
    "Options",
    "Problem",
    "Registry",
    "Rewrites",
    "RuleProtocol",
    "Rules",
    "hookimpl",
    "hookspec",
    "registry",
    "reset",
    "unsaid",
    "validate_options",
)
