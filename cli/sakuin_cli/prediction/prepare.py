"""Folders of pages as an index would have them, with their vectors and the search over them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sakuin.errors import SakuinError
from sakuin.retrieval.weights import weights_of

from sakuin_cli.connections import deployment_if_any, settings_if_any
from sakuin_cli.prediction.answers import Predict
from sakuin_cli.prediction.cache import Cache
from sakuin_cli.prediction.pages import PredictedSite, predicted_site
from sakuin_cli.prediction.vectors import Vectors, index_version
from sakuin_cli.site.uploads import uploads_below
from sakuin_cli.terminal import OnProgress


@dataclass(frozen=True, slots=True)
class Prepared:
    """What answers questions over versions of a site, the oldest first.

    `lacks_vectors`: whether some of their texts have none. `reason`: why texts and questions may have none.
    """

    predict: Predict
    sites: Sequence[PredictedSite]
    lacks_vectors: bool
    reason: str | None


def prepare(
    data: Path | None, versions: Sequence[Sequence[Path]], folder: str, file: Path, on_progress: OnProgress
) -> Prepared:
    """Reads each version of a site from its paths; `folder` is its folder of the library, `file` that of the cache.

    The deployment, if there is one in the settings of `--data`, gives vectors that the cache does not have.
    """
    cache, client = Cache(file.expanduser()), deployment_if_any(settings_if_any(data))
    reason = None
    try:
        version = index_version(cache, client)
    except SakuinError as error:
        version, client, reason = index_version(cache, None), None, str(error)
    sites: list[PredictedSite] = []
    for paths in versions:
        uploads = uploads_below(paths, folder=folder)
        site = predicted_site(uploads, version, cache)
        sites.append(site.after(sites[-1]) if sites else site)
    vectors = Vectors(cache, version.space, client)
    texts = {name: text for site in sites for page in site.pages.values() for name, text in page.texts.items()}
    missing = vectors.fetch(texts, on_progress)
    predict = Predict(version, weights_of(version.model.name), vectors)
    return Prepared(predict, sites, missing is not None, reason or missing)
