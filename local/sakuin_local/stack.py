"""The whole stack: services that start in parallel, then the template deployed on them."""

import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sakuin_local.addresses import LOOPBACK, stable_ports
from sakuin_local.aws.emulator import ACCESS_KEY, REGION, SECRET_KEY, Emulator, minor_version, wipe_temporary
from sakuin_local.aws.emulator import install as install_emulator
from sakuin_local.aws.emulator import start as start_emulator
from sakuin_local.aws.keys import ApiKeys, api_keys_of, secret_values
from sakuin_local.aws.layers import build_layers
from sakuin_local.aws.template import Template
from sakuin_local.data_folder import write_environment
from sakuin_local.parts import Parts
from sakuin_local.places import MIGRATIONS, TEMPLATE
from sakuin_local.processes import Programs
from sakuin_local.proxy import NotYet, Proxy, Target, with_site
from sakuin_local.serving import served
from sakuin_local.steps import Steps
from sakuin_local.supabase.database import PORTS as DATABASE_PORTS
from sakuin_local.supabase.database import Database, database_of
from sakuin_local.supabase.tokens import keys_of, local_user_of
from sakuin_local.vendors import start_embeddings, start_turbopuffer

PORTS = (*DATABASE_PORTS, "emulator", "embeddings", "turbopuffer")
STACK = "sakuin"
SECRET = "sakuin/local"  # noqa: S105 - its name
# With more, a burst starts a worker for each request: the same throughput, four times the longest latency.
REQUESTS_AT_ONCE = 3
# API Gateway renames this header of answers, so clients here meet the same.
REMAPPED = {b"www-authenticate": b"x-amzn-remapped-www-authenticate"}
# Without TLS, cookies must not ask for it.
_AS_A_GATEWAY = [(b"x-forwarded-proto", b"http")]


@dataclass(frozen=True, slots=True)
class Stack:
    """A running stack. `environment` is the content of `<folder>/env`; `parts` restarts programs that die.

    `was_killed`: the run before was killed, so that the emulator has lost its queues.
    """

    url: str
    api_key: str
    outputs: Mapping[str, str]
    environment: Mapping[str, str]
    programs: Programs
    parts: Parts
    was_killed: bool = False


class _Address:
    """The route to the HTTP API, known after its deployment."""

    def __init__(self) -> None:
        self.prefix = b""
        self.bucket = ""
        self.port = 0

    def set(self, emulator: Emulator, outputs: Mapping[str, str]) -> None:
        self.port = emulator.port
        self.prefix = f"/_aws/execute-api/{outputs['ApiId']}/$default".encode()
        self.bucket = outputs["MaterialsBucket"]

    def __call__(self, path: bytes) -> Target:
        if not self.prefix:
            raise NotYet
        return Target(self.port, self.prefix + path)


@contextmanager
def running_stack(
    folder: Path, steps: Steps, *, port: int, given: Mapping[str, str], show: Callable[[str], None]
) -> Iterator[Stack]:
    """Starts everything and deploys the template, with the HTTP API at `port` (0: a free one), until the block ends.

    `given` are parameters of the template in addition to those of this machine. `show` prints a line. Links lead to the
    uploaded pages at the same address.
    """
    address = _Address()
    # A run that is not killed removes it.
    was_killed = (folder / "env").exists()
    programs = Programs(folder)
    parts = Parts(programs)
    with ExitStack() as until_the_end:
        until_the_end.callback(wipe_temporary, folder)
        until_the_end.callback(programs.stop)
        # `page_of` needs the ports, which are known after this one.
        front_proxy = Proxy(address, at_once=REQUESTS_AT_ONCE, added=_AS_A_GATEWAY, renamed=REMAPPED)
        application = with_site(front_proxy, lambda key: page_of(key))
        front = until_the_end.enter_context(served(application, port=port))
        url = f"http://{LOOPBACK}:{front}"
        ports = stable_ports(folder / "ports.json", PORTS)
        aws = Emulator(ports["emulator"])
        api_keys = api_keys_of(folder)
        install_emulator(programs)
        minor = minor_version()

        def page_of(key: str) -> bytes | None:
            # Loads the AWS SDK when somebody opens the first link.
            from sakuin_local.aws.client import object_in

            if not address.prefix:
                raise NotYet
            return object_in(aws, address.bucket, key)

        def database() -> Database:
            return until_the_end.enter_context(
                database_of(folder, programs, parts, ports, migrations=MIGRATIONS, site_url=url)
            )

        def deployment() -> dict[str, str]:
            # Loads the AWS SDK (half a second) while the emulator starts.
            from sakuin_local.aws.deployment import deploy, put_secrets, uploaded_template

            emulator.result()
            put_secrets(aws, _secrets(api_keys, folder))
            layers.result()
            template = uploaded_template(aws, TEMPLATE, minor=minor)
            values = {**parameters(template, ports, url, minor=minor), **given}
            return deploy(aws, STACK, template, values)

        def emulator_process() -> Emulator:
            return start_emulator(folder, programs, aws)

        def restart_emulator() -> None:
            # It has lost its state since it started, also the deployed template.
            from sakuin_local.reconcile import reconcile

            address.prefix = b""
            emulator_process()
            outputs = deployment()
            address.set(aws, outputs)
            show(reconcile(_environment(url, api_keys, outputs, aws, supabase.result(), ports)))

        layers = steps.start("Lambda layers", lambda: build_layers(TEMPLATE, programs, minor=minor))
        emulator = steps.start(
            "AWS emulator", lambda: parts.start("emulator", emulator_process, again=restart_emulator)
        )
        embeddings = steps.start(
            "embeddings",
            lambda: parts.start("embeddings", lambda: start_embeddings(folder, programs, port=ports["embeddings"])),
        )
        turbopuffer = steps.start(
            "turbopuffer",
            lambda: parts.start("turbopuffer", lambda: start_turbopuffer(folder, programs, port=ports["turbopuffer"])),
        )
        supabase = steps.start("Postgres, migrations, PostgREST, Auth", database)
        deployed = steps.start("template.yaml deployed", deployment)
        steps.finish([layers, emulator, embeddings, turbopuffer, supabase, deployed])

        outputs = deployed.result()
        address.set(aws, outputs)
        environment = _environment(url, api_keys, outputs, aws, supabase.result(), ports) | _user(folder)
        write_environment(folder / "env", environment)
        until_the_end.callback((folder / "env").unlink, missing_ok=True)
        yield Stack(url, api_keys.knowledge, outputs, environment, programs, parts, was_killed)


def parameters(template: Template, ports: Mapping[str, int], url: str, *, minor: str) -> dict[str, str]:
    """Returns the template's parameters on this machine; a deployment in the cloud differs in these alone."""
    runtimes: list[str] = template["Parameters"]["PythonRuntime"]["AllowedValues"]
    runtime = f"python{minor}"
    return {
        # The emulator runs handlers on its own Python, whatever the runtime.
        "PythonRuntime": runtime if runtime in runtimes else runtimes[-1],
        "Architecture": "arm64" if platform.machine() in ("arm64", "aarch64") else "x86_64",
        "SecretName": SECRET,
        "SupabaseUrl": f"http://{LOOPBACK}:{ports['rest']}",
        "OpenAiBaseUrl": f"http://{LOOPBACK}:{ports['embeddings']}/v1",
        "EmbeddingModel": "multilingual-e5-small",
        "EmbeddingQueryPrefix": "query: ",
        "EmbeddingPassagePrefix": "passage: ",
        "ApiUrl": url,
        "BaseUrl": url,
        "Webhooks": "private",
        # The local endpoint has embeddings only, no language model.
        "LearnsModel": "",
        "TurbopufferBaseUrl": f"http://{LOOPBACK}:{ports['turbopuffer']}",
        # The emulator has no limit of an account.
        "PageWorkers": "5",
        "EmbedWorkers": "5",
    }


def _environment(
    url: str,
    keys: ApiKeys,
    outputs: Mapping[str, str],
    emulator: Emulator,
    database: Database,
    ports: Mapping[str, int],
) -> dict[str, str]:
    return {
        "SAKUIN_URL": url,
        "SAKUIN_API_KEY": keys.knowledge,
        "SAKUIN_ADMIN_KEY": keys.admin,
        "SAKUIN_BUCKET": outputs["MaterialsBucket"],
        "SAKUIN_STACK": STACK,
        "SAKUIN_SECRET": SECRET,
        "SAKUIN_QUEUE_URL": outputs["MaterialQueueUrl"],
        "SAKUIN_DEAD_LETTERS_URL": outputs["MaterialDeadLettersUrl"],
        "SAKUIN_SUPABASE_URL": database.rest_url,
        "SAKUIN_SUPABASE_SERVICE_KEY": database.service_key,
        "SAKUIN_SUPABASE_ANON_KEY": database.anon_key,
        "SAKUIN_DATABASE_DSN": database.dsn_postgres,
        "SAKUIN_OPENAI_BASE_URL": f"http://{LOOPBACK}:{ports['embeddings']}/v1",
        "SAKUIN_TURBOPUFFER_BASE_URL": f"http://{LOOPBACK}:{ports['turbopuffer']}",
        "AWS_ENDPOINT_URL": emulator.endpoint,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_DEFAULT_REGION": REGION,
    }


def _user(folder: Path) -> dict[str, str]:
    user = local_user_of(folder)
    return {"SAKUIN_USER_ID": user.id, "SAKUIN_USER_EMAIL": user.email, "SAKUIN_USER_PASSWORD": user.password}


def _secrets(api_keys: ApiKeys, folder: Path) -> dict[str, str]:
    keys = keys_of(folder)
    return secret_values(
        api_keys,
        SECRET,
        service_key=keys.service,
        search_key=keys.search,
        publishable_key=keys.anon,
        jwt_secret=keys.jwt_secret,
    )
