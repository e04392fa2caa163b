"""Whether all work has finished."""

import psycopg


def check_finished(sql: psycopg.Connection) -> None:
    """Nothing is retried, waits or failed."""
    rows = sql.execute("select kind, subject, state, vendor, reason from unfinished_work").fetchall()
    assert not rows, f"unfinished work: {rows}"
