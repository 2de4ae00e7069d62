# SPDX-License-Identifier: GPL-2.0-or-later
"""The servers of tests/integration, for faults, and the lab."""
import pathlib
import re
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import borrowed  # noqa: E402

globals().update(borrowed.fixtures())


def pytest_configure(config):
    config.addinivalue_line("markers", "quick: also in `./dev test`")


@pytest.fixture(scope="module")
def module_servers(template):
    """make_server for a whole module."""
    conftest = borrowed.module()
    made, directories = [], []
    yield conftest._maker(template, made, directories)
    problems = conftest._finish(made, directories, False)
    assert not problems, problems


@pytest.fixture(scope="module")
def shared_lab(module_servers):
    from lab import Lab

    it = Lab(module_servers)
    try:
        it.server.start()
        yield it
    finally:
        it.close()


@pytest.fixture
def lab_without_server(tmp_path):
    from lab import Lab

    it = Lab(None)
    yield it
    for box in it.boxes:
        if box.agent:
            print(f"--- {box.host} ---\n{box.agent.text()}")
    it.close()


@pytest.fixture
def lab(shared_lab, tmp_path, request):
    """The lab with fresh boxes and a ledger (lab.ledger); the server is up."""
    name = re.sub("[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower()).strip("-")
    shared_lab.ledger = shared_lab.begin(tmp_path, name)
    if shared_lab.server.process is None:
        shared_lab.server.start()
    yield shared_lab
    shared_lab.ledger.close()
    for box in shared_lab.boxes:
        if box.agent and getattr(request.node, "failed", False):
            print(f"--- {box.host} ---\n{box.agent.text()}")
        box.kill()
        box.heal()
    shared_lab.host.heal()
    if getattr(request.node, "failed", False):
        print(shared_lab.server.log()[-20000:])
