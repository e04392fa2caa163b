"""A program run as the user `nobody` with access to our files: Postgres refuses to run as root.

usage: unprivileged.py PROGRAM ARGUMENT…  (as root on Linux)

The new user keeps one capability across `exec`, CAP_DAC_OVERRIDE, because the folders above the clone, such as `/root`,
are usually closed to other users.
"""

import ctypes
import os
import pwd
import sys

CAP_DAC_OVERRIDE = 1
# With it access(2) counts the capability, too: `initdb` asks that whether it may run `postgres`.
PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP = 28, 1 << 2
PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 47, 2
LINUX_CAPABILITY_VERSION_3 = 0x20080522


def become(user: str, *, capability: int) -> None:
    """Changes from root to `user` with only this capability, which programs started from here inherit."""
    libc = ctypes.CDLL(None, use_errno=True)
    account = pwd.getpwnam(user)
    _check(libc.prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0))
    os.setgroups([])
    os.setgid(account.pw_gid)
    os.setuid(account.pw_uid)
    mask = 1 << capability
    header = (ctypes.c_uint32 * 2)(LINUX_CAPABILITY_VERSION_3, 0)
    # effective, permitted, inheritable: capabilities 0-31, then 32-63
    sets = (ctypes.c_uint32 * 6)(mask, mask, mask, 0, 0, 0)
    _check(libc.capset(ctypes.byref(header), ctypes.byref(sets)))
    _check(libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0))


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot drop the rights of root for Postgres: {os.strerror(number)}")


if __name__ == "__main__":
    become("nobody", capability=CAP_DAC_OVERRIDE)
    os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606 - replaces this process on purpose
