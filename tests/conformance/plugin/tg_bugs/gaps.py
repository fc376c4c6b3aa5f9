"""What the backend `bug-gaps` says it lacks: only the first entry is true."""

import tg
from tg.plugin import Gap

GAPS = (
    Gap(tg.sin, frozenset({"float32"}), None, "upstream", tg.NoRuleError, "has none"),
    Gap(tg.cos, frozenset({"float32"}), None, "todo", ValueError, "raises something else"),
    Gap(tg.exp, frozenset({"float64"}), lambda op, types: len(types) > 5, "todo", tg.NoRuleError, "matches nothing"),
    Gap("subnormals", None, None, "never", None, "are exact here, so this is wrong"),
    Gap(tg.tan, frozenset({"float32"}), None, "upstream", tg.NoRuleError, "is right here, so this is wrong"),
    Gap(tg.tanh, frozenset({"float32"}), None, "upstream", None, "is exact here, so this is wrong", 9.0),
)
