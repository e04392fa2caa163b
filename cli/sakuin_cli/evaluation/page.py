"""A report as one self-contained HTML page: no scripts, no external fonts or styles, charts as SVG."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from sakuin.explain.explanation import ExplainedHit

from sakuin_cli.evaluation.figures import Group, measures
from sakuin_cli.evaluation.report import KINDS, Report, direction_of, measured_in
from sakuin_cli.evaluation.run import Comparison, FailedQuestion
from sakuin_cli.evaluation.statistics import CELLS, Estimate, MeanDifference

_NAME, _PLOT, _ROW = 190, 470, 26

_STYLE = """
:root{color-scheme:light dark;--page:#fbfaf7;--card:#fff;--ink:#23211d;--soft:#6d685f;--line:#e5e0d6;--main:#2f6f5e;
--pale:#b9d6cc;--bad:#b3402f;--good:#2f6f5e}
@media(prefers-color-scheme:dark){:root{--page:#171816;--card:#20211e;--ink:#e9e6df;--soft:#a29d92;--line:#383831;
--main:#7cc4ae;--pale:#33584d;--bad:#ef8c7a;--good:#7cc4ae}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);line-height:1.6;
font-family:"Hiragino Sans","Noto Sans JP","Noto Sans CJK JP","Yu Gothic UI",Meiryo,system-ui,sans-serif}
main{max-width:960px;margin:0 auto;padding:2.5rem 1.25rem 5rem}
h1{font-size:1.6rem;margin:0}h2{font-size:1.1rem;margin:2.75rem 0 .75rem}
p{margin:.35rem 0}.soft{color:var(--soft)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(130px,1fr));gap:.75rem;margin:1.5rem 0 0}
.tile{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:.8rem 1rem}
.tile b{display:block;font-size:1.6rem;line-height:1.3;font-variant-numeric:tabular-nums}
.tile span{color:var(--soft);font-size:.82rem}
.card{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:.6rem 1rem;margin:.5rem 0;
overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.35rem .6rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th:first-child,td:first-child{text-align:left;padding-left:0}tr:last-child td{border-bottom:0}
th{color:var(--soft);font-weight:500}td small{display:block;color:var(--soft);line-height:1.2}
svg{width:100%;height:auto;display:block}svg text{fill:var(--ink);font-size:13px}svg .soft{fill:var(--soft)}
.up{color:var(--good)}.down,.missed{color:var(--bad)}
details{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:.6rem 1rem;margin:.5rem 0}
summary{cursor:pointer}summary em{font-style:normal;color:var(--soft);font-size:.85rem;margin-left:.5rem}
ol{margin:.4rem 0;padding-left:1.5rem}code{font-size:.88em;overflow-wrap:anywhere}
a{color:var(--main);overflow-wrap:anywhere}
"""


def page(report: Report) -> str:
    """Returns the HTML page of a report."""
    run = report.run
    first = measures(run.k)[0]
    title = f"{run.name}: answer quality"
    unready = f"The tool's index is not ready ({run.index_state}): these figures are of what is indexed so far."
    total, without = len(run.questions), report.without_answer
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="soft">{total} questions, {total - without} with an answer, {without} without. '
        f"Intervals hold the mean with 95% confidence (bootstrap over the questions).</p>",
        *([f'<p class="missed">{escape(unready)}</p>'] if run.index_state else []),
        _tiles(report),
        *(f'<p class="missed">Missed: {escape(str(one))}</p>' for one in report.missed),
        "<h2>What an agent gets</h2>",
        _plot(first, report.agent),
        _table("group", report.agent, run.k),
        "<h2>Legs and rules</h2>",
        '<p class="soft">A refused question counts as nothing found for the agent; the other rows are judged by their '
        "order alone.</p>",
        _plot(first, report.variants),
        _table("variant", report.variants, run.k),
        *([_comparison(report.comparison)] if report.comparison else []),
        *_failures(run.failures, run.k),
        *_bad_lines(report),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )


def _tiles(report: Report) -> str:
    whole = report.agent[0].figures
    tiles = "".join(
        f'<div class="tile"><b>{estimate.mean:.3f}</b>{escape(name)}<br><span>{_interval(estimate)}</span></div>'
        for name, estimate in whole.items()
    )
    return f'<div class="tiles">{tiles}</div>'


def _plot(measure: str, groups: Sequence[Group]) -> str:
    """Returns a chart with a bar and an interval for each group."""
    known = [(group.name, group.figures[measure]) for group in groups if measure in group.figures]
    height = len(known) * _ROW + 34
    marks = "".join(
        f'<line x1="{_x(share)}" x2="{_x(share)}" y1="6" y2="{height - 22}" stroke="var(--line)"/>'
        f'<text class="soft" x="{_x(share)}" y="{height - 6}" text-anchor="middle">{share:g}</text>'
        for share in (0, 0.25, 0.5, 0.75, 1)
    )
    bars = "".join(_bar(name, estimate, 8 + row * _ROW) for row, (name, estimate) in enumerate(known))
    return (
        f'<p class="soft">{escape(measure)}</p><div class="card">'
        f'<svg viewBox="0 0 {_NAME + _PLOT + 130} {height}" role="img" '
        f'aria-label="{escape(measure)} of each">{marks}{bars}</svg></div>'
    )


def _bar(name: str, estimate: Estimate, top: int) -> str:
    middle = top + _ROW / 2 - 2
    low, mean, high = _x(estimate.low), _x(estimate.mean), _x(estimate.high)
    return (
        f'<text x="{_NAME - 12}" y="{middle + 4}" text-anchor="end">{escape(name)}</text>'
        f'<rect x="{_NAME}" y="{top}" width="{round(mean - _NAME, 1)}" height="{_ROW - 8}" rx="3" fill="var(--pale)"/>'
        f'<line x1="{low}" x2="{high}" y1="{middle - 1}" y2="{middle - 1}" stroke="var(--main)" stroke-width="2"/>'
        f'<circle cx="{mean}" cy="{middle - 1}" r="4" fill="var(--main)"/>'
        f'<text x="{_NAME + _PLOT + 14}" y="{middle + 4}">{estimate.mean:.3f}'
        f'<tspan class="soft" dx="8">n {estimate.n}</tspan></text>'
    )


def _x(share: float) -> float:
    return round(_NAME + share * _PLOT, 1)


def _table(first: str, groups: Sequence[Group], k: int) -> str:
    names = measured_in(groups, k)
    rows = (
        f"<tr><td>{escape(group.name)}</td><td>{group.questions}</td>"
        + "".join(f"<td>{_cell(group.figures, name)}</td>" for name in names)
        + "</tr>"
        for group in groups
    )
    return _whole_table((first, "n", *names), rows)


def _cell(figures: Mapping[str, Estimate], name: str) -> str:
    estimate = figures.get(name)
    return "–" if estimate is None else f"{estimate.mean:.3f}<small>{_interval(estimate)}</small>"


def _interval(estimate: Estimate) -> str:
    return f"{estimate.low:.2f}–{estimate.high:.2f}"


def _comparison(comparison: Comparison) -> str:
    left_out = comparison.left_out
    note = f'<p class="soft">{left_out} questions are in one run only and left out.</p>' if left_out else ""
    rows = (_difference(name, change) for name, change in comparison.differences.items())
    return "<h2>Compared with the saved run</h2>" + _whole_table(("measure", *CELLS), rows) + note


def _difference(name: str, difference: MeanDifference) -> str:
    before, after, change, *rest = difference.cells()
    return (
        f"<tr><td>{escape(name)}</td><td>{before}</td><td>{after}</td>"
        f'<td class="{direction_of(name, difference)}">{change}</td>'
        + "".join(f"<td>{cell}</td>" for cell in rest)
        + "</tr>"
    )


def _whole_table(heads: Iterable[str], rows: Iterable[str]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    return f'<div class="card"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _failures(failures: Sequence[FailedQuestion], k: int) -> Iterable[str]:
    for kind, title in KINDS.items():
        some = [failure for failure in failures if failure.kind == kind]
        if some:
            yield f"<h2>{len(some)} {escape(title.format(k=k))}</h2>"
            yield from map(_failure, some)


def _failure(failure: FailedQuestion) -> str:
    question = failure.question
    expected = f"<p>expected <code>{escape(failure.expected)}</code></p>" if failure.expected else ""
    shown = "".join(f"<li>{_hit(hit)}</li>" for hit in failure.shown)
    return (
        f"<details><summary>{escape(question.query)}"
        f"<em>{escape(question.category)}, line {question.line}</em></summary>"
        f"{expected}<p>{escape(failure.why)}</p>{f'<ol>{shown}</ol>' if shown else ''}</details>"
    )


def _hit(hit: ExplainedHit) -> str:
    name = escape(hit.title or hit.id)
    # A link may be relative to the site of the pages, but never a script.
    linked = hit.url is not None and not hit.url.lower().lstrip().startswith(("javascript:", "data:"))
    link = f'<a href="{escape(hit.url or "")}">{name}</a>' if linked else name
    similarity = "" if hit.similarity is None else f" {hit.similarity:.3f}"
    return f'{link} <span class="soft"><code>{escape(hit.id)}</code>{similarity}</span>'


def _bad_lines(report: Report) -> Iterable[str]:
    if lines := report.run.bad_lines:
        yield "<h2>Lines that were left out</h2>"
        yield from (f'<p class="missed">Line {one.line}: {escape(one.reason)}</p>' for one in lines)
