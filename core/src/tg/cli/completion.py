"""`tg completion`: what makes a shell complete commands and options, made of what the parser knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import argparse

SHELLS: Final = ("bash", "zsh", "fish")

BASH: Final = """\
# eval "$(tg completion bash)" in ~/.bashrc
_tg() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" words
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{commands}"
    else
        case "${{COMP_WORDS[1]}}" in
{cases}
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _tg tg
"""

ZSH: Final = """\
#compdef tg
# eval "$(tg completion zsh)" in ~/.zshrc, behind compinit
_tg() {{
    local -a entries
    if (( CURRENT == 2 )); then
        entries=(
{commands}
        )
        _describe 'command' entries
    else
        case "$words[2]" in
{cases}
        esac
        compadd -- $entries
        _files
    fi
}}
compdef _tg tg
"""


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("completion", help="what makes a shell complete commands and options")
    command.add_argument("shell", choices=SHELLS, help="bash, zsh or fish")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the text for a shell."""
    from tg.cli import parser, usage

    whole = parser()
    print(script(args.shell, usage.helps(whole), usage.completed(whole)), end="")
    return 0


def script(shell: str, helps: dict[str, str], words: Any) -> str:
    """The text for a shell, of the commands with their lines, and of the words behind each."""
    if shell == "bash":
        cases = "\n".join(f'            {name}) words="{" ".join(words[name])}" ;;' for name in helps)
        return BASH.format(commands=" ".join(helps), cases=cases)
    if shell == "zsh":
        commands = "\n".join(f"            {_quoted(f'{name}:{_plain(text)}')}" for name, text in helps.items())
        cases = "\n".join(f"            {name}) entries=({' '.join(words[name])}) ;;" for name in helps)
        return ZSH.format(commands=commands, cases=cases)
    rows = ["# tg completion fish | source   in ~/.config/fish/config.fish"]
    for name, text in helps.items():
        rows.append(f"complete -c tg -n __fish_use_subcommand -f -a {name} -d {_quoted(text)}")
        for word in words[name]:
            of = f"-l {word[2:]}" if word.startswith("--") else f"-f -a {word}"
            rows.append(f"complete -c tg -n '__fish_seen_subcommand_from {name}' {of}")
    return "\n".join(rows) + "\n"


def _plain(text: str) -> str:
    return text.replace(":", r"\:")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", r"'\''") + "'"
