"""The function that keepers of the library and of projects call."""

from collections.abc import Mapping
from datetime import UTC, datetime

from sakuin import __version__
from sakuin.bootstrap.aws import bucket_of_pages, material_queue
from sakuin.bootstrap.fingerprints import page_fingerprint
from sakuin.bootstrap.http_handling import http_handler
from sakuin.bootstrap.indexes import is_deployed
from sakuin.bootstrap.keys import SecretKeys
from sakuin.bootstrap.projects import project_services
from sakuin.bootstrap.starting import unswept
from sakuin.bootstrap.watching import secret_of, supabase, watch
from sakuin.entrypoints.redacting import Handler
from sakuin.settings import Settings


@unswept
def rest_endpoint(environ: Mapping[str, str]) -> Handler:
    """The handler of the function that keepers of the library and of projects call."""
    from mangum import Mangum

    from sakuin.adapters.supabase_index import SupabaseIndex
    from sakuin.adapters.supabase_indexes import SupabaseIndexes
    from sakuin.adapters.supabase_key_use import SupabaseKeyUse
    from sakuin.adapters.supabase_records import SupabaseRecords
    from sakuin.bootstrap.reconciling import reconciling
    from sakuin.entrypoints.http import rest_api
    from sakuin.entrypoints.http_indexes import index_router
    from sakuin.entrypoints.http_projects import project_routers
    from sakuin.entrypoints.http_reconcile import reconcile_router
    from sakuin.entrypoints.http_work import WorkOfMaterials, work_router
    from sakuin.entrypoints.key_use import noted_once_a_day
    from sakuin.platform.unfinished_work import UnfinishedWorkStore
    from sakuin.services.keep_indexes import KeepIndexes
    from sakuin.services.library import Library

    settings, watched = Settings.read(environ), watch("Api")
    secret = secret_of(settings, watched)
    client = supabase(settings, secret.now(), watched)
    library = Library(
        records=SupabaseRecords(client),
        index=SupabaseIndex(client),
        bucket=bucket_of_pages(settings),
        queue=material_queue(settings, watched),
        prefix=settings.material_prefix,
        fingerprint=page_fingerprint(settings).id,
        max_page_bytes=settings.limits.page_bytes,
        box_selectors=settings.box_selectors,
        most_explanations=settings.limits.page_explanations,
    )
    ring = SecretKeys(secret, lambda now: now.admin_key_hashes)
    unfinished = UnfinishedWorkStore(client)
    work_of = WorkOfMaterials(unfinished, settings.material_prefix)
    reconcile = reconciling(settings, secret.now(), watched, client)
    admin_routers = (
        work_router(unfinished, work_of),
        reconcile_router(reconcile),
        index_router(KeepIndexes(SupabaseIndexes(client), is_deployed(settings))),
    )
    key_use = SupabaseKeyUse(client)

    def days() -> Mapping[str, str]:
        now = secret.now()
        return key_use.days([*now.knowledge_key_hashes, *now.admin_key_hashes])

    used = noted_once_a_day(key_use.note, lambda: datetime.now(UTC).date())
    longest = settings.limits.api_request_bytes
    rest = rest_api(
        library,
        ring,
        __version__,
        *project_routers(project_services(settings, secret, client), ring),
        admin_routers=admin_routers,
        used=used,
        days=days,
        work_of=work_of,
        longest_body=longest,
    )
    return http_handler(Mangum(rest, lifespan="off"), watched)
