# SPDX-License-Identifier: GPL-2.0-or-later
"""The servers of tests/integration, for faults."""
import importlib.util
import pathlib
import sys

_directory = pathlib.Path(__file__).resolve().parents[1] / "integration"
sys.path.append(str(_directory))
_spec = importlib.util.spec_from_file_location("integration_conftest", _directory / "conftest.py")
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
globals().update({k: v for k, v in vars(_module).items() if not k.startswith("_")})
