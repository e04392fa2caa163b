"""The night compares each index version with its namespaces, not only the one that answers."""

import pytest
from sakuin.errors import Invalid
from sakuin.tables.chunk_store import namespace
from sakuin.tables.reconcile import ReconcileVersions

from tests.tables.index_versions.conftest import GREEN, Deployment, indexed
from tests.worlds import long


def versions(deployment: Deployment) -> ReconcileVersions:
    """The comparisons as functions make them, that of the live version first."""
    world, live_first = deployment.world, deployment.kept()[::-1]
    return ReconcileVersions.of(world.client, world.store, deployment.world.queues_of(), live_first)


def night(deployment: Deployment) -> list[str]:
    """Returns the rules of all differences."""
    found, after, compare = [], None, versions(deployment)
    while True:
        page = compare.page(after, dry_run=False, is_over=lambda: False)
        found += [one.rule for one in page.differences]
        if page.after is None:
            return found
        after = page.after


def test_a_row_that_a_late_worker_left_beside_is_removed(deployment: Deployment) -> None:
    asked = indexed(deployment, {"a": long("二次方程式")})
    deployment.own = GREEN
    deployment.build()
    assert night(deployment) == []  # an index that is being built is no difference
    deployment.settle()
    beside = next(each for each in deployment.kept() if not each.live)
    name, world = namespace(deployment.world.project, asked.table, beside.suffix), deployment.world
    whole = world.store.ids(name)
    row = {"id": "late", "chunk": "late", "passage": 0, "vector": [1.0] + [0.0] * 1535, "generation": 1}
    world.store.client.namespace(name).write(upsert_rows=[row], distance_metric="cosine_distance")
    assert (night(deployment), world.store.ids(name)) == (["left over"], whole)
    assert night(deployment) == []
    world.store.delete_namespace(name)
    assert night(deployment) == ["lost"]
    deployment.settle()
    assert (night(deployment), world.store.ids(name).keys()) == ([], whole.keys())


def test_a_place_is_one_of_a_version_that_is_there(deployment: Deployment) -> None:
    indexed(deployment, {"a": long("二次方程式")})
    compare = versions(deployment)
    assert compare.page("7:", dry_run=True, is_over=lambda: False).after is None
    with pytest.raises(Invalid, match="Unknown place 'x:y'"):
        compare.page("x:y", dry_run=True, is_over=lambda: False)
