"""Reports as self-contained HTML pages: no scripts, no external fonts or styles, charts as SVG."""

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from sakuin_cli.evaluation.figures import measures
from sakuin_cli.evaluation.report import KINDS, Report, direction_of, measured_in
from sakuin_cli.evaluation.statistics import CELLS


def page(report: Report) -> str:
    """Returns the HTML page of a report."""
    return rendered(
        "report.html",
        report=report,
        run=report.run,
        # The measure of the charts.
        first=measures(report.run.k)[0],
        kinds=KINDS,
        cells=CELLS,
        measured_in=measured_in,
        direction_of=direction_of,
        is_link=_is_link,
    )


def rendered(template: str, **values: Any) -> str:
    """Returns the HTML page of a template in this folder."""
    templates = Environment(
        loader=PackageLoader("sakuin_cli", "evaluation"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return templates.get_template(template).render(values)


def _is_link(url: str | None) -> bool:
    """Returns whether a result has a link. It may be relative to the site of the pages, but is never a script."""
    return url is not None and not url.lower().lstrip().startswith(("javascript:", "data:"))
