#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the manual pages and completions that repeat what the programs' --help and docs/ say, so that
they cannot differ from them: packaging/from_help.py BUILD. tests/integration/test_man.py runs it and
compares (--check)."""
import os
import pathlib
import re
import subprocess
import sys

import yaml

import markdown_man

ROOT = pathlib.Path(__file__).resolve().parents[1]
MAN = ROOT / "docs" / "man"
LICENSE = '.\\" SPDX-License-Identifier: GPL-2.0-or-later\n'
MADE = '.\\" Written by packaging/from_help.py.\n'


def say(program, *args):
    env = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
    out = subprocess.run([str(program), *args], capture_output=True, text=True, check=True,
                         stdin=subprocess.DEVNULL, env=env)
    return out.stdout.rstrip("\n")


def escape(text):
    """As it stands: minus signs that can be copied, no line taken for a request."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").split("\n")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in lines)


def verbatim(text):
    return ".EX\n" + escape(text) + "\n.EE\n"


def page(name, section, summary, body):
    head = f'.TH {name.upper()} {section} "" "rigstat" "rigstat"\n'
    return LICENSE + MADE + head + f".SH NAME\n{name} \\- {summary}\n" + body


def verbs_of(text):
    return re.findall(r"^  ([a-z][a-z-]*)  +\S", text, re.M)


# ---- rigstat(1) ----

def rigstat_page(program):
    top = say(program, "--help")
    body = """.SH SYNOPSIS
.B rigstat
.I VERB
.RI [ OPTIONS ]
.SH DESCRIPTION
Compares the latency and efficiency of Linux test boxes: files of cyclictest, fio, perf stat and other tools
without any server, or the runs of a
.BR rigstat\\-server (8).
Results go to standard output, messages to standard error.
""" + verbatim(top) + ".SH VERBS\n"
    for verb in verbs_of(top):
        body += f".SS rigstat {escape(verb)}\n" + verbatim(say(program, verb, "--help"))
    body += """.SH ENVIRONMENT
.TP
.B RIGSTAT_SERVER
Address of the server when
.B \\-\\-server
is not given.
.TP
.BR RIGSTAT_TOKEN ", " RIGSTAT_TOKEN_FILE
The token, or a file with it; else
.IR ~/.config/rigstat/token .
.SH SEE ALSO
.BR rigstat\\-selectors (7),
.BR rigstat\\-agent (8),
.BR rigstat\\-server (8)
"""
    return page("rigstat", 1, "compares runs and result files, for people and for CI", body)


# ---- rigstat-agent(8) ----

def agent_page(program):
    top = say(program, "--help")
    body = """.SH SYNOPSIS
.B rigstat\\-agent
.I COMMAND
.RI [ OPTIONS ]
.SH DESCRIPTION
Measures a test box: wake\\-up latency of each CPU, latency of block requests, waits for locks, performance counters,
and what held a CPU when a wake\\-up came late. Records wait in a spool on disk until a
.BR rigstat\\-server (8)
has stored them.
""" + verbatim(top)
    for command in ("daemon", "enroll", "rotate", "check"):
        body += f".SS rigstat\\-agent {command}\n" + verbatim(say(program, command, "--help"))
    # Its options are those of the daemon.
    body += ".SS rigstat\\-agent tracepoints\n" + verbatim(say(program, "tracepoints", "--help").split("\n  --")[0])
    body += """.SS rigstat\\-agent run
See
.BR rigstat\\-agent\\-run (1).
.SH THE SERVICE
.B rigstat\\-agent.service
runs
.B rigstat\\-agent daemon
as user
.B rigstat
with CAP_PERFMON, CAP_BPF, CAP_SYS_NICE and CAP_IPC_LOCK, once
.I /etc/rigstat/agent.conf
exists. Before that, as root,
.B rigstat\\-agent tracepoints
looks up the tracepoints of the configuration. SIGHUP
.RB ( "systemctl reload" )
reads the token file again; other settings need a restart. SIGTERM ends the open run, writes the spool and exits.
While
.B rigstat\\-agent run
measures the box, the daemon's own probes pause.
.SH FILES
.TP
.I /etc/rigstat/agent.conf
See
.BR rigstat\\-agent.conf (5).
.TP
.I /etc/rigstat/identity/token
The token that
.B enroll
got, readable by the daemon only; the daemon renews it when it ends.
.TP
.I /etc/rigstat/tunables.d/*.conf
Settings that experiments may choose from; see
.BR rigstat\\-tune (8).
.TP
.I /etc/rigstat/workloads.d/*.conf
Workloads that experiments may choose from. Writable by root only. Sections are names, with the keys
.BR description ", " command " and " directory .
.TP
.I /var/lib/rigstat/spool
Records that no server has confirmed yet.
.TP
.I /run/rigstat/measure.lock
One program measures a box at a time.
.TP
.I /run/rigstat/tracepoints
Numbers of the tracepoints that agent.conf names, of this boot; written as root before the service starts.
.SH EXIT STATUS
0 done; 1
.B check
found something that has to be mended; 2 no such command; 3 wrong usage or a bad setting; 4 the box failed.
.SH SEE ALSO
.BR rigstat\\-agent\\-run (1),
.BR rigstat\\-agent.conf (5),
.BR rigstat\\-tune (8),
.BR rigstat\\-server (8)
"""
    return page("rigstat-agent", 8, "measures a test box", body)


# ---- rigstat-agent.conf(5) ----

def options_of(text):
    """(option, value, description) of the indented lists in a help text."""
    found = []
    for line in text.split("\n"):
        m = re.match(r"  --([a-z-]+)(?: ([A-Z][A-Z=:]*))? +(\S.*)$", line)
        if m:
            found.append([m.group(1), m.group(2), m.group(3)])
        elif re.match(r" {8,}\S", line) and found:
            found[-1][2] += " " + line.strip()
    return found


def conf_page(program):
    body = """.SH DESCRIPTION
.I /etc/rigstat/agent.conf
has lines
.IR key " = " value ;
a line that begins with # is a comment. Keys are the long options of
.B rigstat\\-agent daemon
without dashes; a flag has the value
.B yes
or
.BR no ;
what the option
.BI \\-\\-no\\- key
turns off is
.IR key " = no"
here. An unknown key and a bad value are errors that name file and line.
.B $RIGSTAT_SERVER
goes before the file, options go before both.
.SH KEYS
"""
    for name, value, text in options_of(say(program, "daemon", "--help")):
        if name == "config":
            continue
        key = name.removeprefix("no-")
        shown = value or "yes|no"
        text = text[0].upper() + text[1:]
        if key != name:
            text = f"With no: {text[0].lower()}{text[1:]} (default yes)"
        body += f'.TP\n.BI "{escape(key)} = " "{escape(shown)}"\n{escape(text)}.\n'
    body += """.P
.I TIME
is a number with ns, us, ms, s, m or h;
.I SIZE
a number with K, M or G.
.B app
may stand several times.
.SH EXAMPLE
""" + verbatim((ROOT / "packaging" / "examples" / "agent.conf").read_text().rstrip("\n")) + """.SH SEE ALSO
.BR rigstat\\-agent (8),
.BR rigstat\\-tune (8)
"""
    return page("rigstat-agent.conf", 5, "settings of rigstat\\-agent", body)


# ---- pages made of docs/ ----

def docs_page(name, summary, source, see):
    body = markdown_man.convert((ROOT / "docs" / source).read_text())
    if not body.startswith(".S"):
        body = ".SH DESCRIPTION\n" + body
    return page(name, 7, summary, body + ".SH SEE ALSO\n" + see)


def api_page():
    api = yaml.safe_load((ROOT / "docs" / "openapi.yaml").read_text())
    rows = "".join(f"| `{method.upper()} {path}` | {operation['summary']} |\n"
                   for path, methods in api["paths"].items()
                   for method, operation in methods.items() if method in ("get", "post", "put", "patch", "delete"))
    text = f"""#
## Description
{api['info']['description']}

Every server describes itself: `/api/v1/openapi.json`, and as a page `/docs/api`. Where tokens are in use a request
carries `Authorization: Bearer TOKEN`.

## Requests

| request | what |
|---|---|
{rows}
## Examples

```
curl -s "$RIGSTAT_SERVER/api/v1/runs?q=experiment=rq&limit=5"
curl -s "$RIGSTAT_SERVER/api/v1/compare?a=experiment=rq,rq=0&b=experiment=rq,rq=1"
```
"""
    see = ".BR rigstat (1),\n.BR rigstat\\-selectors (7),\n.BR rigstat\\-server (8)\n"
    return page("rigstat-api", 7, "the REST interface of rigstat\\-server",
                         markdown_man.convert(text) + ".SH SEE ALSO\n" + see)


def server_env_page():
    body = """.SH DESCRIPTION
.I /etc/rigstat/server.env
is the environment of
.BR rigstat\\-server.service .
Lines are
.IR NAME = value ,
as
.B EnvironmentFile=
of
.BR systemd.exec (5)
reads them.
.TP
.B RIGSTAT_SERVER_OPTIONS
Options of
.BR "rigstat\\-server serve" ,
with blanks between them.
.TP
.B RIGSTAT_DATABASE
The PostgreSQL to use when no
.B \\-\\-embedded
stands in the options; PGPASSFILE and the other variables of libpq work too.
.P
A change needs
.BR "systemctl restart rigstat\\-server" .
.SH EXAMPLE
""" + verbatim((ROOT / "packaging" / "config" / "server.env").read_text().rstrip("\n")) + """.SH SEE ALSO
.BR rigstat\\-server (8)
"""
    return page("rigstat-server.env", 5, "settings of rigstat\\-server.service", body)


# ---- completion ----

def options_by_verb(program):
    """{verb: (summary, its options)}"""
    top = say(program, "--help")
    summaries = dict(re.findall(r"^  ([a-z][a-z-]*)  +(\S.*)$", top, re.M))
    return {verb: (summaries[verb], sorted(set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", say(program, verb, "--help")))
                                           | {"--help"}))
            for verb in verbs_of(top)}


def zsh_completion(program):
    quoted = lambda text: text.replace("'", "'\\''")
    found = options_by_verb(program)
    verbs = "".join(f"\t\t'{verb}:{quoted(summary)}'\n" for verb, (summary, _) in found.items())
    cases = "".join(f"\t{verb}) options=({' '.join(options)}) ;;\n" for verb, (_, options) in found.items())
    return f"""#compdef rigstat
# SPDX-License-Identifier: GPL-2.0-or-later
# Written by packaging/from_help.py. zsh completion of rigstat: verbs, options, files.

local -a verbs options
if (( CURRENT == 2 )); then
	verbs=(
{verbs}	)
	_describe verb verbs
	return
fi
case $words[2] in
{cases}esac
if [[ $PREFIX == -* ]]; then
	compadd -- $options
else
	_files
fi
"""


def fish_completion(program):
    quoted = lambda text: text.replace("\\", "\\\\").replace("'", "\\'")
    lines = ""
    for verb, (summary, options) in options_by_verb(program).items():
        lines += f"complete -c rigstat -n __fish_use_subcommand -f -a {verb} -d '{quoted(summary)}'\n"
        for option in options:
            lines += f"complete -c rigstat -n '__fish_seen_subcommand_from {verb}' -l {option.removeprefix('--')}\n"
    return f"""# SPDX-License-Identifier: GPL-2.0-or-later
# Written by packaging/from_help.py. fish completion of rigstat: verbs, options, files.

{lines}"""


def bash_completion(program):
    found = options_by_verb(program)
    verbs = list(found)
    cases = "".join(f"\t{verb}) options='{' '.join(options)}' ;;\n" for verb, (_, options) in found.items())
    return f"""# SPDX-License-Identifier: GPL-2.0-or-later
# Written by packaging/from_help.py. bash completion of rigstat: verbs, options, files.

_rigstat() {{
	local word=${{COMP_WORDS[COMP_CWORD]}} options=''

	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W '{' '.join(verbs)} --help --version' -- "$word")
		return
	fi
	case ${{COMP_WORDS[1]}} in
{cases}	esac
	case $word in
	-*) mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word") ;;
	*) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
	esac
}}

complete -o filenames -F _rigstat rigstat
"""


def main():
    check = "--check" in sys.argv
    build = pathlib.Path([a for a in sys.argv[1:] if a != "--check"][0]).resolve()
    agent, cli = build / "agent" / "rigstat-agent", build / "cli" / "rigstat"
    made = {
        MAN / "rigstat.1": rigstat_page(cli),
        MAN / "rigstat-agent.8": agent_page(agent),
        MAN / "rigstat-agent.conf.5": conf_page(agent),
        MAN / "rigstat-stats.7": docs_page("rigstat-stats", "how rigstat compares", "STATISTICS.md",
                                           ".BR rigstat (1),\n.BR rigstat\\-selectors (7)\n"),
        MAN / "rigstat-formats.7": docs_page("rigstat-formats", "files that rigstat reads", "IMPORT.md",
                                             ".BR rigstat (1)\n"),
        MAN / "rigstat-api.7": api_page(),
        MAN / "rigstat-server.env.5": server_env_page(),
        ROOT / "packaging" / "completion" / "rigstat.bash": bash_completion(cli),
        ROOT / "packaging" / "completion" / "_rigstat": zsh_completion(cli),
        ROOT / "packaging" / "completion" / "rigstat.fish": fish_completion(cli),
    }
    stale = [p for p, text in made.items() if not p.exists() or p.read_text() != text]
    for path in stale:
        print(f"{path.relative_to(ROOT)} differs from --help" if check else path.relative_to(ROOT))
        if not check:
            path.write_text(made[path])
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
