"""Postgres without the rights of root, in a clone that only root may enter."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sakuin_local.supabase import unprivileged


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives up its rights")
def test_a_program_of_nobody_runs_others_in_a_folder_that_only_root_enters(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    program = closed / "program"
    program.write_text('#!/bin/sh\ntest -x "$0" && id -un\n', "utf-8")
    program.chmod(0o755)
    command = [sys.executable, "-I", "-S", unprivileged.__file__, str(program)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "nobody"
