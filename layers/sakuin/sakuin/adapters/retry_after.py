"""When a vendor wants to be asked again."""

import math
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that an answer asks for, as a number or as a date (RFC 9110, 10.2.3); None if it does not.

    What is past is 0. Header names are looked up as the vendors' clients do, without regard to case.
    """
    for name, divisor in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers.get(name, "")) / divisor
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(seconds, 0.0)
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", "")).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(moment - time.time(), 0.0)
