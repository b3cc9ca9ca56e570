"""Completion scripts for bash, zsh and fish, from what commands take.

A script holds every word it can offer, so that a Tab starts no program. Bash and zsh share one
function in the language that both speak; fish has a declaration for each word. Knows nothing of
games and recipes but their names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from lanista.cli.arguments import Argument
from lanista.cli.commands import COMMANDS, Group
from lanista.cli.unreadable import EVERYWHERE

Arguments = Mapping[str, Sequence[Argument]]
"""What each command takes, by its words."""
Names = Mapping[str, Iterable[str]]
"""Names of games and of recipes."""

_HARMLESS = re.compile(r"[\w.+][\w.+-]*")

_CANDIDATES = """\
# Prints what may stand in place of $1 after the other words, one a line.
_lanista_candidates() {
  local current="$1" command="" flag="" place=0 word
  shift
  for word in "$@"; do
    case "$command/$word" in
      /-*) ;;
      /*) command="$word" ;;
      GROUPS) command="$command $word" ;;
      */-*=*) flag="" ;;
      */-*) flag="$word"; _lanista_stands_alone "$command $word" && flag="" ;;
      *) if [ -z "$flag" ]; then place=$((place + 1))
         elif ! _lanista_takes_many "$command $flag"; then flag=""; fi ;;
    esac
  done
  case "$current" in
    -*=*) flag="${current%%=*}"
      _lanista_values "$command $flag" | while read -r word; do
        printf '%s\\n' "$flag=$word"
      done ;;
    -*) _lanista_flags "$command" ;;
    *) _lanista_values "$command ${flag:-$place}" ;;
  esac
}
"""

_BASH = """\
_lanista() {
  local IFS=$'\\n' word current="${COMP_WORDS[COMP_CWORD]}" before=()
  # Bash makes a word of the = in --flag=value.
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [ "$word" = "=" ] || before+=("$word")
  done
  [ "$current" = "=" ] && current=""
  COMPREPLY=($(compgen -W "$(_lanista_candidates "$current" "${before[@]}")" -- "$current"))
}
complete -o default -F _lanista lanista
"""

_ZSH = """\
_lanista() {
  local -a candidates
  candidates=(${(f)"$(_lanista_candidates "${words[CURRENT]}" "${(@)words[2,CURRENT-1]}")"})
  compadd -- $candidates || _files
}
if [ "${funcstack[1]}" = "_lanista" ]; then _lanista "$@"; else compdef _lanista lanista; fi
"""

_FISH = """\
# Whether the words without a dash so far are these, and no more.
function __lanista_after
    set -l words (commandline -opc)[2..]
    test "$(string match -v -- '-*' $words)" = "$argv"
end
# Whether they begin with these.
function __lanista_in
    set -l words (string match -v -- '-*' (commandline -opc)[2..])
    test "$words[1..$(count $argv)]" = "$argv"
end
"""


def script(shell: str, arguments: Arguments, names: Names) -> str:
    """Return the script for a shell."""
    title = f"# Made by `lanista completion {shell}`.\n"
    if shell == "fish":
        return title + _FISH + "\n".join(_declarations(arguments, names)) + "\n"
    tables = _CANDIDATES.replace("GROUPS", "|".join(f"{name}/[!-]*" for name in _groups()))
    tables += "".join(_tables(arguments, names))
    return f"#compdef lanista\n{title}{tables}{_ZSH}" if shell == "zsh" else title + tables + _BASH


def values_of(argument: Argument, names: Names) -> list[str]:
    """Return the values that can be offered; what a shell would not take as it is, is left out."""
    values = argument.choices or names.get(argument.suggests, ())
    return [value for value in values if _HARMLESS.fullmatch(value)]


def _groups() -> dict[str, Group]:
    return {name: entry for name, entry in COMMANDS.items() if isinstance(entry, Group)}


def _tables(arguments: Arguments, names: Names) -> Iterator[str]:
    """Yield the functions that hold the words."""
    flags = {name: _flags(of_command) for name, of_command in arguments.items()}
    # Before a command, and after a group's name, commands are offered.
    values = {" 0": list(COMMANDS)}
    values |= {f"{name} 0": list(group.commands) for name, group in _groups().items()}
    for name, of_command in arguments.items():
        values |= {f"{name} {place}": words for place, words in _offered(of_command, names)}
    yield _printing("_lanista_flags", {"": ["--help", "--version"], **flags})
    yield _printing("_lanista_values", values)
    everywhere = [f'*" {flag}"' for flag in ("-h", *EVERYWHERE)]
    switches = _labels(arguments, lambda one: not one.takes_value)
    yield _testing("_lanista_stands_alone", everywhere + switches)
    yield _testing("_lanista_takes_many", _labels(arguments, lambda one: one.many))


def _labels(arguments: Arguments, chosen: Callable[[Argument], bool]) -> list[str]:
    """Return the labels of flags, each with its command."""
    return [
        f'"{name} {one.name}"'
        for name, of_command in arguments.items()
        for one in of_command
        if one.is_flag and chosen(one)
    ]


def _offered(arguments: Sequence[Argument], names: Names) -> Iterator[tuple[str, list[str]]]:
    """Yield a flag's name or a place's number with the values to offer there."""
    places = [one for one in arguments if not one.is_flag]
    for argument in arguments:
        if words := values_of(argument, names):
            yield argument.name if argument.is_flag else str(places.index(argument)), words


def _flags(arguments: Sequence[Argument]) -> list[str]:
    return sorted([*(one.name for one in arguments if one.is_flag), *EVERYWHERE])


def _printing(function: str, words: Mapping[str, Sequence[str]]) -> str:
    arms = "".join(
        f"    \"{label}\") printf '%s\\n' {' '.join(values)} ;;\n"
        for label, values in words.items()
    )
    return f'{function}() {{\n  case "$1" in\n{arms}  esac\n}}\n'


def _testing(function: str, labels: Sequence[str]) -> str:
    cases = "|\\\n    ".join(labels)
    return f'{function}() {{\n  case "$1" in {cases}) return 0 ;; *) return 1 ;; esac\n}}\n'


def _declarations(arguments: Arguments, names: Names) -> Iterator[str]:
    """Yield fish's line for each command, flag and value."""
    for name, entry in COMMANDS.items():
        yield _declared("__lanista_after", f"-f -a {name}", entry.summary)
        if isinstance(entry, Group):
            for verb, inner in entry.commands.items():
                yield _declared(f"__lanista_after {name}", f"-f -a {verb}", inner.summary)
    for name, of_command in arguments.items():
        for argument in of_command:
            words = " ".join(values_of(argument, names))
            if argument.is_flag:
                value = f" -x -a '{words}'" if words else " -r" if argument.takes_value else ""
                yield _declared(f"__lanista_in {name}", f"-l {argument.name[2:]}{value}")
            elif words:
                yield _declared(f"__lanista_in {name}", f"-a '{words}'")
        for flag in EVERYWHERE:
            yield _declared(f"__lanista_in {name}", f"-l {flag[2:]}")


def _declared(condition: str, offer: str, about: str = "") -> str:
    described = f" -d {_quoted(about)}" if about else ""
    return f"complete -c lanista -n '{condition}' {offer}{described}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
