"""Faults in what a plugin gave: checked at once, when tables are merged, before a program can stumble over them.

Each function raises a `PluginError` that names the plugin and the place in its tables; the registry remembers it as the
`Problem` of that plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.errors import PluginError, RewriteError, message, nearest
from tg.graph.op import Op
from tg.ops.family import Family
from tg.plugin.records import ARRAY, Backend, Exporter, Gap, NoRules, Rewrites, RuleProtocol, Rules, key_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tg.plugin.discovery import Entry

RETURNS: Final[Mapping[str, tuple[type, ...]]] = {
    "tg_backends": (tuple,),
    "tg_rules": (Rules, NoRules, type(None)),
    "tg_rewrites": (Rewrites, type(None)),
    "tg_ops": (tuple,),
    "tg_cases": (tuple,),
    "tg_exports": (Exporter, type(None)),
}
MEMBERS: Final[Mapping[str, type]] = {"tg_backends": Backend, "tg_ops": Family}
KEY: Final = "an op class or an elementwise function"


def checked(entry: Entry, hook: str, value: object) -> object:
    """Value that a hook returned, if it is what the contract says; a missing hook that returns a tuple returns none."""
    if value is None and RETURNS[hook] == (tuple,):
        return ()
    member = MEMBERS.get(hook)
    is_right = isinstance(value, RETURNS[hook])
    if is_right and member is not None:
        is_right = all(isinstance(one, member) for one in value)  # type: ignore[attr-defined]
    if not is_right:
        needed = f"a tuple of {member.__name__}" if member is not None else _kinds(RETURNS[hook])
        raise PluginError(message(f"{entry.source}: {hook}: found {shown(value)}, needed {needed}"))
    if hook in TABLES and value is not None:
        TABLES[hook](entry, value)
    return value


def check_rules(entry: Entry, rules: Rules | NoRules) -> None:
    """Refuse a table with keys that no node asks for, or, of kind `array`, with rules that cannot be called."""
    if isinstance(rules, NoRules):
        check_no_rules(entry, rules)
        return
    wrong = [key for key in (*rules.table, *rules.hosted) if not is_key(key)]
    if wrong:
        also = [("also", ", ".join(map(key_name, wrong[1:])))] if wrong[1:] else []
        text = f"{entry.source}: tg_rules: key {key_name(wrong[0])}: found {shown(wrong[0])}, needed {KEY}"
        raise PluginError(message(text, ("plugin", entry.described), *also, hint=meant(wrong[0])))
    _need_all(entry, "tg_rules: gaps", rules.gaps, (Gap,), "a tuple of Gap")
    strange = next((gap for gap in rules.gaps if gap.op not in rules.table), None)
    if strange is not None:
        text = f"{entry.source}: tg_rules: gap of {key_name(strange.op)}: the table has no rule for it"
        raise PluginError(
            message(text, ("plugin", entry.described), hint="a gap of the backend stands in Backend.gaps")
        )
    if rules.hosted and rules.protocol.kind != ARRAY.kind:
        text = f"{entry.source}: tg_rules: hosted: found protocol {rules.protocol}, needed kind {ARRAY.kind}"
        raise PluginError(message(text, ("plugin", entry.described)))
    table: Mapping[object, object] = rules.table
    for key, rule in table.items():
        if rules.protocol.kind == ARRAY.kind and not callable(rule):
            text = f"{entry.source}: tg_rules: rule for {key_name(key)}: found {shown(rule)}, needed a function"
            raise PluginError(message(text, ("plugin", entry.described)))


def check_no_rules(entry: Entry, absent: NoRules) -> None:
    """Refuse a declaration of what is no op."""
    wrong = next((key for key in absent.ops if not is_key(key)), None)
    if wrong is not None:
        text = f"{entry.source}: tg_rules: NoRules: found {shown(wrong)}, needed {KEY}"
        raise PluginError(message(text, ("plugin", entry.described), hint=meant(wrong)))


def check_rewrites(entry: Entry, rewrites: Rewrites) -> None:
    """Refuse rules and passes that are none, patterns that hold what no pattern can, and keys that no node has."""
    from tg.ops.elementwise.record import Elementwise
    from tg.rewrite.rule import Lowering, NodeRule, Pass, Rule

    _need_all(entry, "tg_rewrites: rules", rewrites.rules, (Rule,), "tg.rewrite.rule.rule(…) or node_rule(…)")
    _need_all(entry, "tg_rewrites: passes", rewrites.passes, (Pass, Lowering), "Pass or Lowering")
    for rule in rewrites.rules:
        try:
            keys = rule.keys  # type: ignore[attr-defined]
        except RewriteError as error:
            text, hint = _parted(str(error))
            where = ("plugin", entry.described)
            raise PluginError(message(f"{entry.source}: tg_rewrites: {text}", where, hint=hint)) from error
        wrong = [key for key in keys if not is_key(key) and key is not Elementwise]
        if isinstance(rule, NodeRule) and wrong:
            text = f"{entry.source}: tg_rewrites: rule {rule.name}: key {key_name(wrong[0])}: found {shown(wrong[0])}"
            raise PluginError(message(f"{text}, needed {KEY}", ("plugin", entry.described), hint=meant(wrong[0])))


def check_families(entry: Entry, families: tuple[Family, ...]) -> None:
    """Refuse families whose members are no ops."""
    from tg.ops.elementwise.record import ElementwiseFunction

    for family in families:
        place = f"tg_ops: family {family.path}"
        _need_all(entry, f"{place}: elementwise", family.elementwise, (ElementwiseFunction,), "elementwise functions")
        _need_all(entry, f"{place}: ops", family.ops, (type(Op),), "op classes")


def _need_all(entry: Entry, place: str, values: Iterable[object], kinds: tuple[type, ...], needed: str) -> None:
    for one in values:
        if not isinstance(one, kinds):
            text = f"{entry.source}: {place}: found {shown(one)}, needed {needed}"
            raise PluginError(message(text, ("plugin", entry.described)))


TABLES: Final[Mapping[str, Callable[..., None]]] = {
    "tg_rules": check_rules,
    "tg_rewrites": check_rewrites,
    "tg_ops": check_families,
}


def check_linker(entry: Entry, address: str, linker: object) -> None:
    """Refuse what stands at the address of a linker and is none."""
    if isinstance(linker, type) or not callable(getattr(linker, "compile", None)):
        text = f"{entry.source}: linker {address}: found {shown(linker)}, needed an object with compile(graph, request)"
        hint = f"{address.partition(':')[2]} = {linker.__name__}(…)" if isinstance(linker, type) else None
        raise PluginError(message(text, ("plugin", entry.described), hint=hint))


def unknown_protocol(backend: Backend) -> tuple[str, str] | None:
    """Fault of the protocol of a backend's rules, and the package to upgrade; other kinds are its own."""
    rules: RuleProtocol = backend.rules
    if rules.kind != ARRAY.kind or rules == ARRAY:
        return None
    text = f"backend {backend.name!r}: rules: found protocol {rules}, needed {ARRAY}: kind {ARRAY.kind} is core's own"
    newer = rules.version > ARRAY.version
    return text, f"pip install --upgrade {'tg-core' if newer else backend.distribution}"


def is_op(value: object) -> bool:
    """Whether a value is a class of ops."""
    return isinstance(value, type) and issubclass(value, Op)


def is_key(value: object) -> bool:
    """Whether some node is filed under a value: its op's class, or the elementwise function."""
    from tg.ops.elementwise.record import Elementwise, ElementwiseFunction

    return isinstance(value, ElementwiseFunction) or (is_op(value) and value not in (Op, Elementwise))


def meant(wrong: object) -> str | None:
    """The hint at the key that somebody meant: of the op itself, or of its name or one that is most like it."""
    from tg.ops.catalog import FAMILIES

    if is_op(wrong):
        return "nodes of elementwise functions are filed under the function, such as tg.exp"
    if isinstance(wrong, Op):
        return f"did you mean {_address(type(wrong))}"
    addresses: dict[str, str] = {}
    for family in FAMILIES:
        addresses.update((fn.name, f"tg.ops.{family.path.replace('/', '.')}.{fn.name}") for fn in family.elementwise)
        for cls in family.ops:
            addresses.update(dict.fromkeys((cls.__name__, cls.__name__.lower(), key_name(cls)), _address(cls)))
    name = wrong if isinstance(wrong, str) else key_name(wrong)
    like = nearest(name, addresses) or nearest(name.lower(), addresses)
    return f"did you mean {addresses[like[0]]}, the object" if like else None


def _address(cls: type) -> str:
    return f"{cls.__module__}.{cls.__name__}"


def _parted(text: str) -> tuple[str, str | None]:
    text, _, hint = text.partition("\n  hint: ")
    return text, hint or None


def _kinds(kinds: Iterable[type]) -> str:
    return " or ".join("None" if kind is type(None) else kind.__name__ for kind in kinds)


def shown(value: Any) -> str:
    """A value for a message: its type and its text, shortened; a class by its name."""
    if isinstance(value, type):
        return f"class {value.__qualname__}"
    text = " ".join(repr(value).split())
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
