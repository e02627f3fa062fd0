# SPDX-License-Identifier: GPL-2.0-only
"""Bash completion of a program, made of its table of options (--list=options)."""

import json
import subprocess

# "=" divides words for bash: "--model=ll" arrives as three. No function of the package
# bash-completion is needed.
TEXT = """# bash completion of {name}, made of {name} --list=options
_dltrain_complete_{name}() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} option=''
    if [[ $cur == = ]]; then
        option=$before cur=''
    elif [[ $before == = ]]; then
        option=${{COMP_WORDS[COMP_CWORD - 2]}}
    fi
    COMPREPLY=()
    case $option in
    '')
        [[ $cur == -* ]] || return
        mapfile -t COMPREPLY < <(compgen -W '{options}' -- "$cur")
        [[ ${{#COMPREPLY[@]}} != 1 || ${{COMPREPLY[0]}} != *= ]] || compopt -o nospace 2>/dev/null
        ;;
{cases}
    esac
}}
complete -F _dltrain_complete_{name} {name}
"""
CASE = """    {names})
        mapfile -t COMPREPLY < <({words})
        ;;"""


def is_plain(name):
    return all(letter.isalnum() or letter in "-_.+" for letter in name)


def completion(name, path):
    """Text of the file that bash reads."""
    listed = subprocess.run([path, "--list=options"], capture_output=True, text=True, check=True)
    options = json.loads(listed.stdout)["options"]
    words, cases = [], []
    for option in options:
        spellings = [option["name"], *option.get("aliases", [])]
        flag = option["kind"] == "flag" or option["name"] == "help"
        words += [f"--{one}" + ("" if flag else "=") for one in spellings]
        if flag and option.get("default") == "1" and option.get("path"):
            words.append(f"--no-{option['name']}")
        values = [one for one in option.get("names", []) if is_plain(one)]
        sources = [f"compgen -W '{' '.join(values)}' -- \"$cur\""] if values else []
        if "file" in option["kind"] or option["name"] == "out":
            sources.append('compgen -f -- "$cur"')
        if sources:
            cases.append(
                CASE.format(
                    names=" | ".join(f"--{one}" for one in spellings), words="; ".join(sources)
                )
            )
    return TEXT.format(name=name, options=" ".join(words), cases="\n".join(cases))
