"""The whole stack: services that start in parallel, then the template deployed on them."""

import platform
from collections.abc import Iterator, Mapping
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
from sakuin_local.places import MIGRATIONS, TEMPLATE
from sakuin_local.processes import Programs
from sakuin_local.proxy import NotYet, Proxy, Target, with_site
from sakuin_local.serving import served
from sakuin_local.steps import Steps
from sakuin_local.supabase.database import PORTS as DATABASE_PORTS
from sakuin_local.supabase.database import Database, database_of
from sakuin_local.supabase.tokens import keys_of, local_user_of
from sakuin_local.vendors import VectorSource, start_embeddings, start_turbopuffer

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
    """A running stack. `environment` is the content of `<folder>/env`.

    `was_killed`: the run before ended without warning, so that the emulator has lost its queues.
    """

    url: str
    api_key: str
    outputs: Mapping[str, str]
    environment: Mapping[str, str]
    programs: Programs
    emulator: Emulator
    was_killed: bool = False


class FrontDoor:
    """What answers at the address of the stack, also while its programs are restarted: the HTTP API, and the site."""

    url = ""

    def __init__(self) -> None:
        self._stack: Stack | None = None

    @contextmanager
    def served(self, port: int) -> Iterator["FrontDoor"]:
        """Serves at `port` (0: a free one) while the block runs."""
        proxy = Proxy(self._target, at_once=REQUESTS_AT_ONCE, added=_AS_A_GATEWAY, renamed=REMAPPED)
        with served(with_site(proxy, self._page), port=port) as front:
            self.url = f"http://{LOOPBACK}:{front}"
            yield self

    @contextmanager
    def leads_to(self, stack: Stack) -> Iterator[None]:
        """Forwards requests to this stack while the block runs. Links lead to its uploaded pages."""
        self._stack = stack
        try:
            yield
        finally:
            self._stack = None

    def _target(self, path: bytes) -> Target:
        stack = self._running()
        return Target(stack.emulator.port, f"/_aws/execute-api/{stack.outputs['ApiId']}/$default".encode() + path)

    def _page(self, key: str) -> bytes | None:
        # Loads the AWS SDK when somebody opens the first link.
        from sakuin_local.aws.client import object_in

        stack = self._running()
        return object_in(stack.emulator, stack.outputs["MaterialsBucket"], key)

    def _running(self) -> Stack:
        if self._stack is None:
            raise NotYet
        return self._stack


@contextmanager
def running_stack(
    folder: Path, steps: Steps, url: str, given: Mapping[str, str], vectors: VectorSource | Path | None = None
) -> Iterator[Stack]:
    """Starts everything and deploys the template, whose HTTP API is reached at `url`, until the block ends.

    `given` are parameters of the template in addition to those of this machine. `vectors` are of another deployment's
    model, or of that in a file of ONNX.
    """
    # A run that is stopped removes it.
    was_killed = (folder / "env").exists()
    programs = Programs(folder)
    with ExitStack() as until_the_end:
        until_the_end.callback(wipe_temporary, folder)
        until_the_end.callback(programs.stop)
        ports = stable_ports(folder / "ports.json", PORTS)
        aws = Emulator(ports["emulator"])
        api_keys = api_keys_of(folder)
        install_emulator(programs)
        minor = minor_version()

        def database() -> Database:
            return until_the_end.enter_context(
                database_of(folder, programs, ports, migrations=MIGRATIONS, site_url=url)
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

        def start_vectors() -> None:
            start_embeddings(folder, programs, port=ports["embeddings"], source=vectors)

        def start_store() -> None:
            start_turbopuffer(folder, programs, port=ports["turbopuffer"])

        layers = steps.start("layers", lambda: build_layers(TEMPLATE, programs, minor=minor))
        emulator = steps.start("aws", lambda: start_emulator(folder, programs, aws))
        vendors = steps.start("embeddings", start_vectors), steps.start("vectors", start_store)
        supabase = steps.start("database", database)
        deployed = steps.start("deployed", deployment)
        steps.finish([layers, emulator, *vendors, supabase, deployed], watch=programs.check)

        outputs = deployed.result()
        environment = _environment(url, api_keys, outputs, aws, supabase.result(), ports) | _user(folder)
        write_environment(folder / "env", environment)
        yield Stack(url, api_keys.knowledge, outputs, environment, programs, aws, was_killed)


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
        # The local endpoint has embeddings only, no language model.
        "LearnsModel": "",
        "TurbopufferBaseUrl": f"http://{LOOPBACK}:{ports['turbopuffer']}",
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
