# SPDX-License-Identifier: GPL-2.0-or-later
"""Manual pages and completion say what the programs say."""
import subprocess

import pytest

from conftest import BUILD, ROOT


def test_pages_and_completion_are_those_of_help():
    out = subprocess.run([str(ROOT / "packaging" / "from_help.py"), "--check", str(BUILD)],
                         capture_output=True, text=True, check=False)
    assert out.returncode == 0, (out.stdout + out.stderr +
                                 f"\nrun: packaging/from_help.py {BUILD.name}, and commit")


@pytest.mark.parametrize("page", sorted(p.name for p in (ROOT / "docs" / "man").iterdir()))
def test_page_has_no_warnings(page):
    out = subprocess.run(["groff", "-man", "-t", "-ww", "-rF0", "-Tutf8", "-z",
                          str(ROOT / "docs" / "man" / page)],
                         capture_output=True, text=True, check=False)
    assert out.returncode == 0 and not out.stderr, out.stderr


def complete(*words):
    script = ('. packaging/completion/rigstat.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
              '_rigstat; printf "%s\\n" "${COMPREPLY[@]}"')
    out = subprocess.run(["bash", "-c", script, "bash", *words], cwd=ROOT, capture_output=True,
                         text=True, check=True)
    return out.stdout.split()


def test_completion():
    assert complete("rigstat", "gat") == ["gate"]
    assert complete("rigstat", "gate", "--ru") == ["--rule"]
    assert "--server" in complete("rigstat", "compare", "--")
    assert complete("rigstat", "show", "READ") == ["README.md"]


def test_completion_of_zsh_and_fish():
    subprocess.run(["zsh", "-n", "packaging/completion/_rigstat"], cwd=ROOT, check=True)

    def fish(line):
        out = subprocess.run(["fish", "-c", f'source packaging/completion/rigstat.fish; complete -C "{line}"'], cwd=ROOT,
                             capture_output=True, text=True, check=True)
        return [row.split("\t")[0] for row in out.stdout.splitlines()]
    assert fish("rigstat gat") == ["gate"]
    assert fish("rigstat gate --ru") == ["--rule"]
