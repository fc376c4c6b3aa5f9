"""Merging what several plugins offer: one rule for each op, one rewrite and one family for each name."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from tg.errors import NoRuleError, PluginError, message
from tg.plugin.problems import switch_off
from tg.plugin.records import Gap, NoRules, Rewrites, Rule, RuleProtocol, Rules, key_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tg.ops.family import Family
    from tg.plugin.discovery import Entry
    from tg.plugin.records import Backend


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """The rules of one backend: those in use, and by key those dropped for their protocol."""

    rules: Mapping[object, Rule]
    dropped: Mapping[object, tuple[Entry, RuleProtocol]]
    gaps: tuple[Gap, ...]  # of the rules in use
    hosted: frozenset[object]


def merge_rules(backend: Backend, answers: Sequence[tuple[Entry, Rules | NoRules]]) -> Tables:
    """Unite the tables written for the backend's protocol; where no table has a rule, absent ones are gaps.

    Raises:
        PluginError: two rules for one op, and not exactly one of them replaces the other.
    """
    offers = [(entry, rules) for entry, rules in answers if isinstance(rules, Rules)]
    fitting = [offer for offer in offers if offer[1].protocol == backend.rules]
    providers: dict[object, list[tuple[Entry, Rules]]] = {}
    for entry, rules in fitting:
        for key in rules.table:
            providers.setdefault(key, []).append((entry, rules))
    winners = {key: _winners(key, group) for key, group in providers.items()}
    clashes = {key: group for key, group in winners.items() if len(group) > 1}
    if clashes:
        raise PluginError(_rule_clash(backend.name, clashes))
    used = {key: group[0][1] for key, group in winners.items()}
    return Tables(
        MappingProxyType({key: rules.table[key] for key, rules in used.items()}),
        MappingProxyType(_dropped(backend, offers)),
        (*(gap for _, rules in fitting for gap in rules.gaps if used.get(gap.op) is rules), *_absent(answers, used)),
        frozenset(key for _, rules in fitting for key in rules.hosted),
    )


def _absent(answers: Sequence[tuple[Entry, Rules | NoRules]], used: Mapping[object, Rules]) -> Iterator[Gap]:
    """The gaps of ops whose own plugin says that it has no rule for the backend."""
    for entry, absent in answers:
        if isinstance(absent, NoRules):
            for key in dict.fromkeys(absent.ops):
                if key not in used:
                    yield Gap(key, None, None, "todo", NoRuleError, f"{entry.source}: {absent.reason}")


def merge_rewrites(offers: Sequence[tuple[Entry, Rewrites]]) -> Rewrites:
    """All rules and all passes, in the order of the offers.

    Raises:
        PluginError: two rewrites of one name.
    """
    items = ((entry, item) for entry, rewrites in offers for item in (*rewrites.rules, *rewrites.passes))
    _check_names("rewrites", ((entry, key_name(item)) for entry, item in items))
    return Rewrites(
        tuple(rule for _, rewrites in offers for rule in rewrites.rules),
        tuple(item for _, rewrites in offers for item in rewrites.passes),
    )


def merge_families(offers: Sequence[tuple[Entry, tuple[Family, ...]]]) -> tuple[Family, ...]:
    """All families, in the order of the offers.

    Raises:
        PluginError: two families of one path, or two members of one name.
    """
    families = [(entry, family) for entry, group in offers for family in group]
    _check_names("op families", ((entry, family.path) for entry, family in families))
    members = ((entry, one) for entry, family in families for one in (*family.elementwise, *family.ops))
    _check_names("ops", ((entry, key_name(one)) for entry, one in members))
    return tuple(family for _, family in families)


def wrong_protocol(backend: Backend, key: object, entry: Entry, protocol: RuleProtocol) -> str:
    """Why a rule that exists cannot be used."""
    summary = f"{key_name(key)}: rule for backend {backend.name!r} from {entry.source} is of another protocol"
    needed = ("protocol", f"found {protocol}, needed {backend.rules}")
    older = protocol.kind == backend.rules.kind and protocol.version > backend.rules.version
    return message(
        summary, needed, hint=f"pip install --upgrade {backend.distribution if older else entry.distribution}"
    )


def _winners(key: object, offers: list[tuple[Entry, Rules]]) -> list[tuple[Entry, Rules]]:
    replacing = [offer for offer in offers if key in offer[1].replaces]
    return replacing or offers


def _dropped(backend: Backend, offers: Sequence[tuple[Entry, Rules]]) -> dict[object, tuple[Entry, RuleProtocol]]:
    unfit = [(entry, rules) for entry, rules in offers if rules.protocol != backend.rules]
    return {key: (entry, rules.protocol) for entry, rules in unfit for key in rules.table}


def _rule_clash(backend: str, clashes: Mapping[object, list[tuple[Entry, Rules]]]) -> str:
    key, *others = sorted(clashes, key=key_name)
    entries = [entry for entry, _ in clashes[key]]
    count = "two" if len(entries) == 2 else str(len(entries))
    sources = " and ".join(entry.source for entry in entries)
    also = [("also", ", ".join(map(key_name, others)))] if others else []
    summary = f"{key_name(key)} has {count} rules for backend {backend!r}: from {sources}"
    return message(summary, *also, hint=switch_off(entries))


def _check_names(kind: str, names: Iterable[tuple[Entry, str]]) -> None:
    owners: dict[str, Entry] = {}
    for entry, name in names:
        if name in owners:
            raise PluginError(_name_clash(kind, name, owners[name], entry))
        owners[name] = entry


def _name_clash(kind: str, name: str, first: Entry, second: Entry) -> str:
    if first == second:
        return message(f"{first.source}: two {kind} are named {name}")
    summary = f"two {kind} are named {name}: from {first.source} and {second.source}"
    return message(summary, hint=switch_off((first, second)))
