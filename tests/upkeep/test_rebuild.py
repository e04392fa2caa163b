"""All derived data is lost: reconciliation builds it again."""

from dataclasses import dataclass, replace

import psycopg
import pytest
from sakuin.upkeep.reconcile import KINDS
from sakuin.wiring.index_versions import reconciling

from tests.builders import a_page
from tests.worlds import TableWorld, World, Worlds, long

# What a backup of the records alone holds; the buckets are the other half.
SOURCES = {"project", "project_member", "context_table", "tool", "mcp", "mcp_binding", "schema_migrations"}
A, B = long("二次方程式の解の公式"), long("一次関数の傾き")


@dataclass
class Deployment:
    """Pages and Tables of one deployment."""

    pages: World
    tables: TableWorld

    def settle(self) -> None:
        self.pages.settle()
        self.tables.settle()

    def reconciled(self) -> list[tuple[str, str]]:
        """Asks for all parts, page by page, as the command does; returns what differed."""
        found: list[tuple[str, str]] = []
        tables = reconciling(self.tables.clients, self.tables.kept)().tables
        reconcile = replace(self.pages.reconcile, tables=tables)
        for kind in KINDS:
            after = None
            while True:
                page = reconcile.page(kind, after, dry_run=False, seconds=10)
                found += [(one.rule, one.where) for one in page.differences]
                after = page.after
                if after is None:
                    break
        self.settle()
        return found

    def answers(self, endpoint: str) -> object:
        """Returns the answers of pages and Tables."""
        asked = ("解の公式", "みはじの使い方", "公式で解く方法")
        pages = [[(hit.id, hit.learns) for hit in self.pages.search(query).results] for query in asked]
        return pages, self.tables.found(endpoint, "解の公式"), self.tables.found(endpoint, "傾き")


@pytest.fixture
def deployment(a_world: Worlds, tables: TableWorld) -> Deployment:
    return Deployment(a_world(empty=False), tables)


def test_an_emptied_index_answers_as_before_once_nothing_differs(deployment: Deployment) -> None:
    tables, bucket = deployment.tables, deployment.pages.bucket
    bucket.write("learns.yml", "二次_教材:\n  rule-a: [公式で解く方法, 係数の読み方, 解の確かめ方]\n".encode())
    bucket.write("synonyms.yml", "- [速さの公式, みはじ]\n".encode())
    bucket.write("二次_教材.html", a_page({"rule-a": "解の公式: 係数を代入する。", "ex-1": "例: 解いてみる。"}))
    bucket.write("速さ_教材.html", a_page({"rule-a": "速さの公式: 道のりを時間で割る。"}))
    bucket.write("gone.html", a_page({"rule-a": "消える: もうない。"}))
    bucket.remove("gone.html")
    table = tables.table({"a": A, "b": B})
    tool = tables.tool(table, "")
    endpoint = tables.endpoint(tool)
    deployment.settle()
    before, rows = deployment.answers(endpoint), tables.rows(table).keys()
    assert deployment.reconciled() == []

    for name in tables.store.namespaces(""):
        tables.store.delete_namespace(name)
    forget_what_is_derived(deployment.pages.sql)
    assert deployment.answers(endpoint) != before

    first = deployment.reconciled()
    assert first == [
        ("unread", "learns.yml"),
        ("unread", "synonyms.yml"),
        ("missing", "二次_教材.html"),
        ("missing", "速さ_教材.html"),
        ("unbuilt", table),
    ]
    assert deployment.reconciled() == []
    assert (deployment.answers(endpoint), tables.rows(table).keys()) == (before, rows)
    assert tables.status(tool)["state"] == "ready"


def forget_what_is_derived(sql: psycopg.Connection) -> None:
    """Leaves what a backup of the records holds."""
    tables = [name for (name,) in sql.execute("select tablename from pg_tables where schemaname = 'public'")]
    derived = [f"public.{name}" for name in tables if name not in SOURCES]
    sql.execute(f"truncate {', '.join(derived)}".encode())
