"""The commands of a keeper."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sakuin.entrypoints.cli.desk import Desk
from sakuin.settings import DeskSettings, needed

if TYPE_CHECKING:
    from sakuin.adapters.s3 import S3Bucket
    from sakuin.ports.desk import DeployedExplanations, DeployedKeyUse, DeployedLibrary
    from sakuin.services.ask_as_agent import AskAsAgent
    from sakuin.services.await_receipts import AwaitReceipts
    from sakuin.services.check_pages import CheckPages
    from sakuin.services.evaluate import Evaluate
    from sakuin.services.explain_from_afar import ExplainFromAfar
    from sakuin.services.indexes_from_afar import IndexesFromAfar
    from sakuin.services.keep_keys import KeepKeys
    from sakuin.services.look_at_library import LookAtLibrary
    from sakuin.services.projects_from_afar import ProjectsFromAfar
    from sakuin.services.push_pages import PushPages
    from sakuin.services.reconcile_from_afar import ReconcileFromAfar
    from sakuin.services.redrive import Redrive
    from sakuin.services.remove_pages import RemovePages


def desk(environ: Mapping[str, str]) -> Desk:
    """The commands' use cases, each built when a command asks for it: none loads what only another one needs."""
    settings = DeskSettings.read(environ)

    def library() -> "DeployedLibrary":
        from sakuin.adapters.rest_client import connected_library

        return connected_library(_url(settings), needed(settings.admin_key, "SAKUIN_ADMIN_KEY", "sk_sakuin_…"))

    def receipts() -> "AwaitReceipts":
        from sakuin.services.await_receipts import AwaitReceipts

        return AwaitReceipts(library(), time.monotonic, time.sleep)

    def ask() -> "AskAsAgent":
        from sakuin.adapters.mcp_client import McpEndpoint
        from sakuin.services.ask_as_agent import AskAsAgent

        key = needed(settings.api_key, "SAKUIN_API_KEY", "sk_sakuin_…")
        return AskAsAgent(McpEndpoint(f"{_url(settings)}/mcp", key))

    def ask_tools() -> "AskAsAgent":
        from sakuin.adapters.mcp_client import McpEndpoint
        from sakuin.services.ask_as_agent import AskAsAgent

        url = needed(settings.tools_mcp_url, "SAKUIN_TOOLS_MCP_URL", "https://…/mcp/<mcp id>")
        return AskAsAgent(McpEndpoint(url, needed(settings.tools_api_key, "SAKUIN_TOOLS_API_KEY", "sk_sakuin_…")))

    def push() -> "PushPages":
        from sakuin.adapters.local_files import Disk
        from sakuin.services.push_pages import PushPages

        return PushPages(Disk(), _bucket_from_afar(settings), receipts(), settings.material_prefix)

    def remove() -> "RemovePages":
        from sakuin.services.remove_pages import RemovePages

        return RemovePages(_bucket_from_afar(settings), receipts())

    def check() -> "CheckPages":
        from sakuin.adapters.local_files import Disk
        from sakuin.services.check_pages import CheckPages

        return CheckPages(Disk(), library(), settings.material_prefix, settings.box_selectors)

    def look() -> "LookAtLibrary":
        from sakuin.adapters.rest_client import connected
        from sakuin.adapters.rest_work import RestWork
        from sakuin.services.look_at_library import LookAtLibrary

        key = needed(settings.admin_key, "SAKUIN_ADMIN_KEY", "sk_sakuin_…")
        return LookAtLibrary(library(), RestWork(connected(_url(settings), key)))

    def projects() -> "ProjectsFromAfar":
        from sakuin.adapters.local_files import Disk
        from sakuin.adapters.rest_client import connected
        from sakuin.adapters.rest_projects import RestProjects
        from sakuin.services.projects_from_afar import ProjectsFromAfar

        key = needed(settings.admin_key, "SAKUIN_ADMIN_KEY", "sk_sakuin_…")
        deployed = RestProjects(connected(_url(settings), key))
        return ProjectsFromAfar(deployed, Disk(), time.monotonic, time.sleep, settings.project)

    def explanations() -> "DeployedExplanations":
        from sakuin.adapters.rest_client import connected
        from sakuin.adapters.rest_explanations import RestExplanations

        key = needed(settings.admin_key, "SAKUIN_ADMIN_KEY", "sk_sakuin_…")
        # The last step of an endpoint's address is its id.
        return RestExplanations(connected(_url(settings), key), settings.tools_mcp_url.rstrip("/").rpartition("/")[2])

    def explain() -> "ExplainFromAfar":
        from sakuin.services.explain_from_afar import ExplainFromAfar

        return ExplainFromAfar(explanations())

    def evaluate() -> "Evaluate":
        from sakuin.services.evaluate import Evaluate

        return Evaluate(explanations(), time.sleep)

    def key_use() -> "DeployedKeyUse | None":
        from sakuin.adapters.rest_client import connected
        from sakuin.adapters.rest_key_use import RestKeyUse

        if not settings.url or not settings.admin_key:
            return None
        return RestKeyUse(connected(settings.url, settings.admin_key))

    def keys() -> "KeepKeys":
        from sakuin.adapters.stored_secret import SecretsManagerSecret
        from sakuin.services.keep_keys import KeepKeys

        name = needed(settings.secret, "SAKUIN_SECRET", "sakuin/prod")
        secret = SecretsManagerSecret(_aws(settings, "secretsmanager", settings.aws_endpoint_url), name)
        return KeepKeys(secret, key_use())

    def indexes() -> "IndexesFromAfar":
        from sakuin.adapters.rest_client import connected
        from sakuin.adapters.rest_indexes import RestIndexes
        from sakuin.services.indexes_from_afar import IndexesFromAfar

        key = needed(settings.admin_key, "SAKUIN_ADMIN_KEY", "sk_sakuin_…")
        return IndexesFromAfar(RestIndexes(connected(_url(settings), key)))

    def redrive() -> "Redrive":
        from sakuin.adapters.rest_client import connected
        from sakuin.adapters.rest_work import RestWork
        from sakuin.adapters.sqs_dead_letters import SqsDeadLetters
        from sakuin.adapters.stack_outputs import outputs_of, queue_urls
        from sakuin.services.redrive import Redrive

        stack = needed(settings.stack, "SAKUIN_STACK", "sakuin")
        outputs = outputs_of(_aws(settings, "cloudformation", settings.aws_endpoint_url), stack)
        urls, dead_urls = queue_urls(outputs)
        work = None
        if settings.url and settings.admin_key:
            work = RestWork(connected(settings.url, settings.admin_key))
        return Redrive(SqsDeadLetters(_aws(settings, "sqs", settings.aws_endpoint_url), urls, dead_urls), work)

    def reconcile() -> "ReconcileFromAfar":
        from sakuin.adapters.rest_client import connected
        from sakuin.adapters.rest_reconciliation import RestReconciliation
        from sakuin.services.reconcile_from_afar import ReconcileFromAfar

        key = needed(settings.admin_key, "SAKUIN_ADMIN_KEY", "sk_sakuin_…")
        return ReconcileFromAfar(RestReconciliation(connected(_url(settings), key)))

    return Desk(
        ask=ask,
        ask_tools=ask_tools,
        push=push,
        remove=remove,
        check=check,
        look=look,
        projects=projects,
        explain=explain,
        evaluate=evaluate,
        keys=keys,
        indexes=indexes,
        redrive=redrive,
        reconcile=reconcile,
    )


def _url(settings: DeskSettings) -> str:
    return needed(settings.url, "SAKUIN_URL", "https://abcd.execute-api.ap-northeast-1.amazonaws.com")


def _bucket_from_afar(settings: DeskSettings) -> "S3Bucket":
    """The bucket as the commands reach it."""
    from sakuin.adapters.s3 import S3Bucket

    name = needed(settings.bucket, "SAKUIN_BUCKET", "sakuin-materials-123456789012-ap-northeast-1")
    return S3Bucket(_aws(settings, "s3", settings.aws_endpoint_url_s3), name)


def _aws(settings: DeskSettings, service: str, endpoint_url: str | None) -> Any:
    from sakuin.adapters.aws import client

    return client(
        service,
        aws_access_key_id=settings.aws_access_key_id,
        aws_secret_access_key=settings.aws_secret_access_key,
        aws_session_token=settings.aws_session_token,
        region_name=settings.aws_region,
        profile_name=settings.aws_profile,
        endpoint_url=endpoint_url,
    )
