"""Run a program as `nobody` that can still reach our files: Postgres refuses to be root.

usage: unprivileged.py PROGRAM ARGUMENT…  (as root on Linux)

Changing the user alone would need every folder above the clone to be open to others, which `/root` and most
temporary folders are not. The new user therefore keeps one capability, CAP_DAC_OVERRIDE, across `exec`.
"""

import ctypes
import os
import pwd
import sys

CAP_DAC_OVERRIDE = 1
PR_SET_KEEPCAPS = 8
PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 47, 2
LINUX_CAPABILITY_VERSION_3 = 0x20080522


def become(user: str, *, capability: int) -> None:
    """Leave root for `user` with only this capability, which programs started from here inherit."""
    libc = ctypes.CDLL(None, use_errno=True)
    account = pwd.getpwnam(user)
    _check(libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
    os.setgroups([])
    os.setgid(account.pw_gid)
    os.setuid(account.pw_uid)
    mask = 1 << capability
    header = (ctypes.c_uint32 * 2)(LINUX_CAPABILITY_VERSION_3, 0)
    # effective, permitted, inheritable of capabilities 0-31, then of 32-63
    sets = (ctypes.c_uint32 * 6)(mask, mask, mask, 0, 0, 0)
    _check(libc.capset(ctypes.byref(header), ctypes.byref(sets)))
    _check(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0))


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot give up root for Postgres: {os.strerror(number)}")


if __name__ == "__main__":
    become("nobody", capability=CAP_DAC_OVERRIDE)
    os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606 - becoming the program is the point
