"""Check messages of commits: those since this check (`python -m tests.commits`), or of one file (`... FILE`).

As a hook of git: `ln -s ../../tests/commit-msg .git/hooks/commit-msg` in a clone.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST = 72  # characters of a subject: what `git log --oneline` shows in a terminal of 80 columns
SUBJECT = re.compile(r"^[a-z][\w.-]*(?:(?:, | and |/)[a-z][\w.-]*)*: \S")
REVERT = re.compile(r'^Revert "')
NARRATED = re.compile(r"^(?:add|fix|chang|updat|remov|mov|renam|mak|us|mend|writ|delet|test|split)(?:ed|es|ing)$")
SEPARATOR = "\x1e"


def faults(message: str) -> list[str]:
    """What a message lacks; comments of git's editor are no part of it."""
    lines = [line for line in message.strip().splitlines() if not line.startswith("#")]
    subject, body = (lines or [""])[0], lines[1:]
    if REVERT.match(subject):
        return []
    lacks = []
    if len(subject) > MOST:
        lacks.append(f"subject: has {len(subject)} characters, needed {MOST} at most")
    if not SUBJECT.match(subject):
        lacks.append("subject: has no scope, needed `scope: imperative`")
    elif NARRATED.match(subject.partition(": ")[2].partition(" ")[0]):
        lacks.append("subject: tells a story, needed the imperative (`add`, not `added`)")
    if subject.endswith("."):
        lacks.append("subject: ends with a full stop, needed none")
    if not any(line.strip() for line in body):
        lacks.append("body: is empty, needed the reason for the change")
    elif body[0].strip():
        lacks.append("body: follows the subject at once, needed an empty line between")
    return lacks


def since_the_check() -> list[tuple[str, str]]:
    """Hashes and messages of the commits that follow the one that brought this file; none where there is no history."""
    own = str(Path(__file__).relative_to(ROOT))
    first = git("log", "--diff-filter=A", "--format=%H", "--", own).split()
    if not first:
        return []
    entries = git("log", "--no-merges", f"--format=%h %B{SEPARATOR}", f"{first[-1]}..HEAD").split(SEPARATOR)
    return [(commit, text) for commit, _, text in (entry.strip().partition(" ") for entry in entries) if commit]


def git(*arguments: str) -> str:
    """Output of a command of git; nothing where this is no clone."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def main() -> int:
    """Print the faults of each message; 1 where there are any."""
    messages = [(name, Path(name).read_text()) for name in sys.argv[1:]] or since_the_check()
    texts = [f"{name}: {fault}" for name, message in messages for fault in faults(message)]
    sys.stdout.write("".join(f"{text}\n" for text in texts))
    return 1 if texts else 0


if __name__ == "__main__":
    sys.exit(main())
