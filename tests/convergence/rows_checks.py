"""Whether rows of work say that there is work left."""

import psycopg


def check_rows(sql: psycopg.Connection) -> None:
    """No message is in hand, waits, is parked or dead."""
    rows = sql.execute("select id, queue, state, reason from work").fetchall()
    assert not rows, f"rows of work: {rows}"
