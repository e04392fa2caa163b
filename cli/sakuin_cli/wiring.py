"""The commands of a keeper."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sakuin.settings import DeskSettings, needed

from sakuin_cli.desk import Desk

if TYPE_CHECKING:
    from sakuin.adapters.s3 import S3Bucket

    from sakuin_cli.ask_as_agent import AskAsAgent
    from sakuin_cli.await_receipts import AwaitReceipts
    from sakuin_cli.check_pages import CheckPages
    from sakuin_cli.deployment_keys import KeepKeys
    from sakuin_cli.evaluation.evaluate import Evaluate
    from sakuin_cli.explain_from_afar import ExplainFromAfar
    from sakuin_cli.indexes_from_afar import IndexesFromAfar
    from sakuin_cli.look_at_library import LookAtLibrary
    from sakuin_cli.ports import DeployedExplanations, DeployedKeyUse, DeployedLibrary
    from sakuin_cli.projects_from_afar import ProjectsFromAfar
    from sakuin_cli.push_pages import PushPages
    from sakuin_cli.reconcile_from_afar import ReconcileFromAfar
    from sakuin_cli.redrive import Redrive
    from sakuin_cli.remove_pages import RemovePages


def desk(environ: Mapping[str, str]) -> Desk:
    """The commands' use cases, each built when a command asks for it: none loads what only another one needs."""
    settings = DeskSettings.read(environ)

    def library() -> "DeployedLibrary":
        from sakuin_cli.client import connected_library

        return connected_library(_url(settings), needed(settings.admin_key, "SAKUIN_ADMIN_KEY", "sk_sakuin_…"))

    def receipts() -> "AwaitReceipts":
        from sakuin_cli.await_receipts import AwaitReceipts

        return AwaitReceipts(library(), time.monotonic, time.sleep)

    def ask() -> "AskAsAgent":
        from sakuin_cli.agent import McpEndpoint
        from sakuin_cli.ask_as_agent import AskAsAgent

        key = needed(settings.api_key, "SAKUIN_API_KEY", "sk_sakuin_…")
        return AskAsAgent(McpEndpoint(f"{_url(settings)}/mcp", key))

    def ask_tools() -> "AskAsAgent":
        from sakuin_cli.agent import McpEndpoint
        from sakuin_cli.ask_as_agent import AskAsAgent

        url = needed(settings.tools_mcp_url, "SAKUIN_TOOLS_MCP_URL", "https://…/mcp/<mcp id>")
        return AskAsAgent(McpEndpoint(url, needed(settings.tools_api_key, "SAKUIN_TOOLS_API_KEY", "sk_sakuin_…")))

    def push() -> "PushPages":
        from sakuin_cli.local_files import Disk
        from sakuin_cli.push_pages import PushPages

        return PushPages(Disk(), _bucket_from_afar(settings), receipts(), settings.material_prefix)

    def remove() -> "RemovePages":
        from sakuin_cli.remove_pages import RemovePages

        return RemovePages(_bucket_from_afar(settings), receipts())

    def check() -> "CheckPages":
        from sakuin_cli.check_pages import CheckPages
        from sakuin_cli.local_files import Disk

        return CheckPages(Disk(), library(), settings.material_prefix, settings.box_selectors)

    def look() -> "LookAtLibrary":
        from sakuin_cli.client import connected
        from sakuin_cli.look_at_library import LookAtLibrary
        from sakuin_cli.rest_work import RestWork

        key = needed(settings.admin_key, "SAKUIN_ADMIN_KEY", "sk_sakuin_…")
        return LookAtLibrary(library(), RestWork(connected(_url(settings), key)))

    def projects() -> "ProjectsFromAfar":
        from sakuin_cli.client import connected
        from sakuin_cli.local_files import Disk
        from sakuin_cli.projects_from_afar import ProjectsFromAfar
        from sakuin_cli.rest_projects import RestProjects

        key = needed(settings.admin_key, "SAKUIN_ADMIN_KEY", "sk_sakuin_…")
        deployed = RestProjects(connected(_url(settings), key))
        return ProjectsFromAfar(deployed, Disk(), time.monotonic, time.sleep, settings.project)

    def explanations() -> "DeployedExplanations":
        from sakuin_cli.client import connected
        from sakuin_cli.rest_explanations import RestExplanations

        key = needed(settings.admin_key, "SAKUIN_ADMIN_KEY", "sk_sakuin_…")
        # The last step of an endpoint's address is its id.
        return RestExplanations(connected(_url(settings), key), settings.tools_mcp_url.rstrip("/").rpartition("/")[2])

    def explain() -> "ExplainFromAfar":
        from sakuin_cli.explain_from_afar import ExplainFromAfar

        return ExplainFromAfar(explanations())

    def evaluate() -> "Evaluate":
        from sakuin_cli.evaluation.evaluate import Evaluate

        return Evaluate(explanations(), time.sleep)

    def key_use() -> "DeployedKeyUse | None":
        from sakuin_cli.client import connected
        from sakuin_cli.rest_key_use import RestKeyUse

        if not settings.url or not settings.admin_key:
            return None
        return RestKeyUse(connected(settings.url, settings.admin_key))

    def keys() -> "KeepKeys":
        from sakuin_cli.deployment_keys import KeepKeys
        from sakuin_cli.stored_secret import SecretsManagerSecret

        name = needed(settings.secret, "SAKUIN_SECRET", "sakuin/prod")
        secret = SecretsManagerSecret(_aws(settings, "secretsmanager", settings.aws_endpoint_url), name)
        return KeepKeys(secret, key_use())

    def indexes() -> "IndexesFromAfar":
        from sakuin_cli.client import connected
        from sakuin_cli.indexes_from_afar import IndexesFromAfar
        from sakuin_cli.rest_indexes import RestIndexes

        key = needed(settings.admin_key, "SAKUIN_ADMIN_KEY", "sk_sakuin_…")
        return IndexesFromAfar(RestIndexes(connected(_url(settings), key)))

    def redrive() -> "Redrive":
        from sakuin_cli.client import connected
        from sakuin_cli.dead_letters import SqsDeadLetters
        from sakuin_cli.redrive import Redrive
        from sakuin_cli.rest_work import RestWork
        from sakuin_cli.stack_outputs import outputs_of, queue_urls

        stack = needed(settings.stack, "SAKUIN_STACK", "sakuin")
        outputs = outputs_of(_aws(settings, "cloudformation", settings.aws_endpoint_url), stack)
        urls, dead_urls = queue_urls(outputs)
        work = None
        if settings.url and settings.admin_key:
            work = RestWork(connected(settings.url, settings.admin_key))
        return Redrive(SqsDeadLetters(_aws(settings, "sqs", settings.aws_endpoint_url), urls, dead_urls), work)

    def reconcile() -> "ReconcileFromAfar":
        from sakuin_cli.client import connected
        from sakuin_cli.reconcile_from_afar import ReconcileFromAfar
        from sakuin_cli.rest_reconciliation import RestReconciliation

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
