"""What a deployment costs a month: template.yaml with the prices and habits of vendors.toml, as Markdown."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

from sakuin.limits import Limits
from sakuin.mcp.answers import ANSWER_BYTES
from sakuin.mcp.arguments import MAX_QUERY
from sakuin.mcp.messages import LONGEST_BATCH
from sakuin.platform.openai.models import VENDORS, ModelFacts, model_facts
from sakuin_local.aws.template import Template, read_template
from sakuin_local.places import TEMPLATE

SIZES = (100, 10_000, 1_000_000)
# Of pages.
PAGES = (10_000, 100_000, 1_000_000)
# What OpenAI allows a new account that pays, for the embedding model.
TOKENS_A_MINUTE = 1_000_000
MONTH_S = 30 * 24 * 3600
MILLION = 1_000_000
GB = 1_000_000_000
HTTP_FUNCTIONS = ("SakuinMcp", "SakuinApi")
# turbopuffer looks through at least so much for a query; a search asks two.
LEAST_QUERIED = 1.28 * GB
QUERIES_A_SEARCH = 2
QUEUES_WITH_WORKERS = 3
DAY_S = 24 * 3600
# API Gateway counts a request in portions of this size.
PORTION_BYTES = 512 * 1024
# What tests/mcp/test_wire.py allows the list of tools.
LIST_BYTES = 6_000
# A character has at most four bytes, and a token at least one.
TOKENS_A_CHARACTER = 4

Kind = Literal["pages", "Tables"]


@dataclass(frozen=True, slots=True)
class Book:
    """Prices, habits, and what the template deploys."""

    data: Mapping[str, Any]
    template: Template

    def usd(self, name: str) -> float:
        """A unit's price."""
        return float(self.data[name]["usd"])

    def model(self, parameter: str) -> ModelFacts:
        """The model that the template names in a parameter."""
        return model_facts(self.template["Parameters"][parameter]["Default"])

    def habit(self, name: str) -> float:
        """A measured or assumed figure."""
        return float(self.data["habits"][name]["value"])

    def paid(self, name: str, amount: float) -> float:
        """What of an amount is not free."""
        return max(0.0, amount - float(self.data["free_each_month"][name]))

    def memory_gb(self, function: str) -> float:
        """What a function of the template has."""
        standard = self.template["Globals"]["Function"]["MemorySize"]
        memory = self.template["Resources"][function]["Properties"].get("MemorySize", standard)
        return float(self.parameter(memory["Ref"]) if isinstance(memory, dict) else memory) / 1024

    def parameter(self, name: str) -> float:
        """The default of a number among the template's parameters."""
        return float(self.template["Parameters"][name]["Default"])

    def count(self, kind: str) -> int:
        """How many resources of a kind the template has."""
        return sum(each["Type"] == kind for each in self.template["Resources"].values())


@dataclass(frozen=True, slots=True)
class Work:
    """What indexing so many chunks takes."""

    requests: float
    gb_seconds: float
    tokens: float
    learns_calls: float
    learns_tokens: float
    stored_bytes: float
    uploads: float
    events: float


def book() -> Book:
    """The repository's own."""
    return Book(tomllib.loads(VENDORS.read_text(encoding="utf-8")), read_template(TEMPLATE))


def indexing(of: Book, kind: Kind, chunks: float) -> Work:
    """Indexing chunks of one kind, once."""
    if kind == "pages":
        pages, calls = chunks / of.habit("chunks_a_page"), chunks / of.habit("chunks_a_learns_call")
        seconds = pages * of.habit("page_seconds") + calls * of.habit("learns_call_seconds")
        return Work(
            requests=pages + calls,
            gb_seconds=seconds * of.memory_gb("SakuinIndexMaterial"),
            # Provisional learns are embedded first, and those of the model again.
            tokens=2 * chunks * of.habit("tokens_a_chunk"),
            learns_calls=calls,
            learns_tokens=chunks * of.habit("learns_tokens_a_chunk"),
            stored_bytes=0,
            uploads=pages,
            events=0,
        )
    walked_s = chunks / of.habit("chunks_a_string") / of.habit("strings_a_second")
    messages = chunks / of.habit("chunks_an_embed_message")
    embedding = messages * of.habit("embed_message_seconds") * of.memory_gb("SakuinEmbedChunks")
    return Work(
        requests=messages,
        gb_seconds=walked_s * of.memory_gb("SakuinIndexTool") + embedding,
        tokens=chunks * of.habit("tokens_a_table_chunk"),
        learns_calls=0,
        learns_tokens=0,
        stored_bytes=chunks * of.habit("stored_bytes_a_table_chunk"),
        uploads=0,
        # One for each changed string, if each is changed by itself.
        events=chunks / of.habit("chunks_a_string"),
    )


def first_index(of: Book, kind: Kind, chunks: int) -> float:
    """Dollars that indexing everything for the first time costs, once; nothing of it free."""
    work = indexing(of, kind, chunks)
    return (
        work.requests / MILLION * of.usd("lambda_requests")
        + work.gb_seconds * of.usd("lambda_gb_seconds")
        + _openai(of, work, searches=0)
        + work.stored_bytes / GB * of.usd("turbopuffer_writes")
    )


def month(of: Book, kind: Kind, chunks: int, searches: int) -> dict[str, float]:
    """Dollars a month by what they are paid for."""
    work = indexing(of, kind, chunks * of.habit("changed_share"))
    requests = searches * of.habit("requests_a_search")
    minutes, canaries = MONTH_S / 60, MONTH_S / 300
    invocations = requests + work.requests + minutes + 2 * canaries
    seconds = searches * of.habit("search_seconds") + (requests - searches) * of.habit("other_request_seconds")
    gb_seconds = (
        seconds * of.memory_gb("SakuinMcp")
        + work.gb_seconds
        + (minutes + canaries) * of.habit("maintain_seconds") * of.memory_gb("SakuinMaintain")
    )
    snapshots = sum(of.memory_gb(name) for name in HTTP_FUNCTIONS)
    reads = of.habit("workers") * MONTH_S / 300
    polls = QUEUES_WITH_WORKERS * of.habit("polls_a_queue")
    logged = invocations * of.habit("log_bytes_a_request") / GB
    return {
        "Lambda": of.paid("lambda_requests", invocations) / MILLION * of.usd("lambda_requests")
        + of.paid("lambda_gb_seconds", gb_seconds) * of.usd("lambda_gb_seconds"),
        "SnapStart": snapshots * MONTH_S * of.usd("snapstart_cached")
        + requests * of.habit("restored_share") * of.memory_gb("SakuinMcp") * of.usd("snapstart_restored"),
        "API Gateway": requests / MILLION * of.usd("http_api"),
        "SQS": of.paid("sqs_requests", polls + 3 * (work.requests + 2 * canaries)) / MILLION * of.usd("sqs"),
        "S3": _s3(of, kind, chunks, writes=work.uploads + 2 * canaries),
        "EventBridge": work.events / MILLION * of.usd("events"),
        "Secrets Manager": of.usd("secret") + reads / 10_000 * of.usd("secret_reads"),
        "CloudWatch": of.paid("logs_gb", logged) * of.usd("logs")
        + of.paid("metrics", of.habit("metrics")) * of.usd("metrics")
        + of.paid("alarms", of.count("AWS::CloudWatch::Alarm")) * of.usd("alarms"),
        "X-Ray": of.paid("traces", invocations) / MILLION * of.usd("traces"),
        "Supabase": _supabase(of, kind, chunks),
        "turbopuffer": _turbopuffer(of, kind, chunks, searches, written=work.stored_bytes),
        "OpenAI": _openai(of, work, searches=searches),
    }


def provisioned(of: Book) -> float:
    """Dollars a month for one waiting worker of each HTTP function, in the place of SnapStart."""
    return sum(of.memory_gb(name) for name in HTTP_FUNCTIONS) * MONTH_S * of.usd("lambda_provisioned")


def flood(of: Book) -> dict[str, float]:
    """Dollars a day that a flood of `/public/mcp` costs at most, by what they are paid for; nothing of it free.

    All day as many requests as the throttle lets through: all tool calls of the limit, with the longest questions and
    answers; the rest are the largest batches of what is no tool call, in the largest bodies.
    """
    requests, limits = of.parameter("PublicRequestsPerSecond") * DAY_S, Limits()
    calls = min(requests, limits.public_queries_per_minute * DAY_S / 60)
    others = (requests - calls) * LONGEST_BATCH
    seconds = calls * of.habit("search_seconds") + others * of.habit("other_request_seconds")
    memory = of.memory_gb("SakuinMcp")
    portions = -(-limits.mcp_request_bytes // PORTION_BYTES)
    sent = calls * ANSWER_BYTES + others * LIST_BYTES
    return {
        "Lambda": requests / MILLION * of.usd("lambda_requests") + seconds * memory * of.usd("lambda_gb_seconds"),
        "SnapStart": requests * of.habit("restored_share") * memory * of.usd("snapstart_restored"),
        "API Gateway": requests * portions / MILLION * of.usd("http_api"),
        "CloudWatch": requests * of.habit("log_bytes_a_request") / GB * of.usd("logs"),
        "X-Ray": requests / MILLION * of.usd("traces"),
        "answers sent": sent / GB * of.usd("data_out"),
        "OpenAI": calls * MAX_QUERY * TOKENS_A_CHARACTER / MILLION * (of.model("EmbeddingModel").usd_read or 0),
    }


def slow_flood(of: Book) -> float:
    """Dollars a day of Lambda if each of these requests took the function's whole timeout, because a vendor hangs."""
    timeout = float(of.template["Resources"]["SakuinMcp"]["Properties"]["Timeout"])
    requests = of.parameter("PublicRequestsPerSecond") * DAY_S
    return requests * timeout * of.memory_gb("SakuinMcp") * of.usd("lambda_gb_seconds")


def _s3(of: Book, kind: Kind, chunks: int, *, writes: float) -> float:
    bytes_a_chunk = of.habit("page_bytes") / of.habit("chunks_a_page") if kind == "pages" else 0
    stored = chunks * bytes_a_chunk * (1 + 3 * of.habit("changed_share"))
    return stored / GB * of.usd("s3_storage") + writes / 1000 * (of.usd("s3_writes") + 2 * of.usd("s3_reads"))


def _supabase(of: Book, kind: Kind, chunks: int) -> float:
    bytes_a_chunk = of.habit("database_bytes_a_chunk" if kind == "pages" else "database_bytes_a_table_chunk")
    disk_gb = chunks * bytes_a_chunk / GB
    index_gb = chunks * of.habit("vector_index_bytes_a_chunk") / GB if kind == "pages" else 0
    sizes: Sequence[Mapping[str, Any]] = of.data["compute"]
    size = next(each for each in sizes if each["memory_gb"] >= index_gb * 1.25 + 0.5)
    return of.usd("supabase_pro") + float(size["usd"]) - 10 + max(0.0, disk_gb - 8) * of.usd("supabase_disk")


def _turbopuffer(of: Book, kind: Kind, chunks: int, searches: int, *, written: float) -> float:
    if kind == "pages":
        return of.usd("turbopuffer_minimum")
    stored = chunks * of.habit("stored_bytes_a_table_chunk")
    queried = searches * QUERIES_A_SEARCH * max(LEAST_QUERIED, stored)
    used = (
        stored / GB * of.usd("turbopuffer_storage")
        + written / GB * of.usd("turbopuffer_writes")
        + queried / (MILLION * GB) * of.usd("turbopuffer_queried")
        + searches * of.habit("returned_bytes_a_search") / GB * of.usd("turbopuffer_returned")
    )
    return max(of.usd("turbopuffer_minimum"), used)


def _openai(of: Book, work: Work, *, searches: int) -> float:
    embedded = work.tokens + searches * of.habit("tokens_a_question")
    # The same texts are embedded twice, and read by the language model once.
    read = work.tokens / 2 + work.learns_calls * of.habit("learns_call_tokens") if work.learns_calls else 0
    embeds, writes = of.model("EmbeddingModel"), of.model("LearnsModel")
    return (
        embedded / MILLION * (embeds.usd_read or 0)
        + read / MILLION * (writes.usd_read or 0)
        + work.learns_tokens / MILLION * (writes.usd_written or 0)
    )


def lines_of_a_month(of: Book, kind: Kind) -> str:
    """A table: as many searches as chunks."""
    months = [month(of, kind, size, size) for size in SIZES]
    rows = [[name, *(_usd(each[name]) for each in months)] for name in months[0]]
    rows += [["**A month**", *(f"**{_usd(sum(each.values()))}**" for each in months)]]
    rows += [["the first index, once", *(_usd(first_index(of, kind, size)) for size in SIZES)]]
    return _table(["", *(f"{size:,} chunks, {size:,} searches" for size in SIZES)], rows)


def sums_of_a_month(of: Book) -> str:
    """A table: every number of searches with every number of chunks."""
    rows = [
        [f"{chunks:,} chunks of {kind}", *(_usd(sum(month(of, kind, chunks, each).values())) for each in SIZES)]
        for kind, chunks in product(("pages", "Tables"), SIZES)
    ]
    return _table(["", *(f"{size:,} searches" for size in SIZES)], rows)


def day_of_a_flood(of: Book) -> str:
    """A table: the most that the public library costs in a day."""
    paid = flood(of)
    rows = [[name, _usd(amount)] for name, amount in paid.items()]
    return _table(["", "a day, at most"], [*rows, ["**A day**", f"**{_usd(sum(paid.values()))}**"]])


def sizes(of: Book) -> str:
    """A table: what indexing so many pages for the first time takes, and what it needs."""
    tokens = of.habit("chunks_a_page") * of.habit("tokens_a_chunk")
    by_tokens = TOKENS_A_MINUTE / tokens / 60
    seconds = of.habit("page_seconds")
    workers = int(of.parameter("PageWorkers")), 10 * int(of.parameter("PageWorkers"))
    chunks = [pages * of.habit("chunks_a_page") for pages in PAGES]
    rows = [["explanations", *(f"{each:,.0f}" for each in chunks)]]
    rows += [[f"{count} workers alone", *(_duration(pages * seconds / count) for pages in PAGES)] for count in workers]
    rows += [["OpenAI's million tokens a minute alone", *(_duration(pages / by_tokens) for pages in PAGES)]]
    rows += [["workers that use these tokens up", *[f"{by_tokens * seconds:.0f}"] * len(PAGES)]]
    for name, figure in (
        ("disk of Supabase", "database_bytes_a_chunk"),
        ("its memory for vectors", "vector_index_bytes_a_chunk"),
    ):
        rows += [[name, *(f"{each * of.habit(figure) / GB:,.1f} GB" for each in chunks)]]
    return _table(["", *(f"{pages:,} pages" for pages in PAGES)], rows)


def _duration(seconds: float) -> str:
    for unit, length in (("days", 86_400), ("hours", 3600)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds / 60:.0f} minutes"


def prices(of: Book) -> str:
    """A table: each price with its source."""
    named = [(name, each) for name, each in of.data.items() if isinstance(each, Mapping) and "usd" in each]
    return _table(
        ["Price", "$", "for", "Source", "Read"],
        [[f"`{name}`", f"{each['usd']:.10g}", each["unit"], each["source"], each["read"]] for name, each in named],
    )


def models(of: Book) -> str:
    """A table: each model of OpenAI, what 1,000,000 tokens cost, and until when it is served."""
    rows = [
        [
            f"`{each['name']}`",
            f"{each['usd_read']:g}",
            f"{each['usd_written']:g}" if "usd_written" in each else "",
            f"{each['shutdown']}, then `{each['replacement']}`" if "shutdown" in each else "no end announced",
            each["source"],
            each["read"],
        ]
        for each in of.data["model"]
    ]
    return _table(["Model", "$ in", "$ out", "Ends", "Source", "Read"], rows)


def habits(of: Book) -> str:
    """A table: each figure with where it comes from."""
    return _table(
        ["Figure", "is", "because"],
        [[f"`{name}`", f"{each['value']:,}", each["because"]] for name, each in of.data["habits"].items()],
    )


def document(of: Book) -> dict[str, str]:
    """The parts of docs/reference/cost.md that are reckoned, by the names of their places there."""
    return {
        "pages": lines_of_a_month(of, "pages"),
        "tables": lines_of_a_month(of, "Tables"),
        "sums": sums_of_a_month(of),
        "sizes": sizes(of),
        "public": day_of_a_flood(of),
        "prices": prices(of),
        "models": models(of),
        "habits": habits(of),
    }


def _usd(amount: float) -> str:
    return f"{amount:,.2f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Prints the parts, each below its name."""
    of = book()
    for name, part in document(of).items():
        print(f"<!-- {name} -->\n{part}\n")
    print(f"Provisioned workers in the place of SnapStart: {_usd(provisioned(of))} a month")


if __name__ == "__main__":
    main()
