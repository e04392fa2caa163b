"""`sakuin list`: the pages of the library."""

from sakuin_cli.connections import deployment
from sakuin_cli.options import DataOption, JsonOption, PrefixOption
from sakuin_cli.terminal import counted, minute, reporting_errors


def list_(prefix: PrefixOption = "", as_json: JsonOption = False, data: DataOption = None) -> None:
    """List the pages of the library, with the number of their explanations."""
    from sakuin_cli.site.uploads import folder_path

    with reporting_errors(as_json) as terminal, terminal.waiting():
        found = list(deployment(data).materials(prefix=folder_path(prefix)))
    rows = [
        {"material": one["material"], "explanations": one["chunks_count"], "status": one["status"]}
        | {"indexed_at": _moment(one["indexed_at"], as_json), "error": one["error"]}
        for one in found
    ]
    terminal.rows("materials", rows)
    if not as_json:
        place = f" below {prefix}" if prefix else ""
        total = f"{counted(len(found), 'page')}, {counted(sum(one['chunks_count'] for one in found), 'explanation')}"
        terminal.print(total if found else f"There is no page{place}: `sakuin push FOLDER` uploads some")


def _moment(moment: str | None, as_json: bool) -> str | None:
    return moment if as_json or moment is None else minute(moment)
