# SPDX-License-Identifier: GPL-2.0-or-later
"""The servers of tests/integration, for faults."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import borrowed  # noqa: E402

globals().update(borrowed.fixtures())
