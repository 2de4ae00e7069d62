# SPDX-License-Identifier: GPL-2.0-or-later
"""The fixtures of tests/integration for other folders of tests, whose conftest.py has the same
module name and so cannot import them."""
import functools
import importlib.util
import pathlib


@functools.cache
def module():
    spec = importlib.util.spec_from_file_location("integration_conftest",
                                                  pathlib.Path(__file__).with_name("conftest.py"))
    it = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(it)
    return it


def fixtures():
    return {k: v for k, v in vars(module()).items() if not k.startswith("_")}
