"""What an S3 store says when it refuses something, put into our words.

Its own answer is never shown: it repeats keys, request ids and parts of signatures.
"""

from __future__ import annotations

import os
import re
from typing import Final
from urllib.parse import unquote, urlsplit

__all__ = ["cloud_cause", "cloud_place", "endpoint_url", "is_cloud_failure"]

NO_BUCKET: Final = "<Code>NoSuchBucket</Code>"
"""What a store says where there is no such bucket."""

_MARK: Final = "object-store error"
_CODE: Final = re.compile(
    r"<Code>(\w+)</Code>|ExceptionName: (\w+)|AWS Error ([A-Z_]+)"
    r"|status(?: code:)? ([345]\d\d)|curlCode: (\d+)"
)
_ADDRESS: Final = re.compile(r"Error performing [A-Z]+ (\S+)")
_NO_CREDENTIALS: Final = (
    "no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
    "AWS_SKIP_SIGNATURE=true for a bucket that is open to all"
)
# The first that has one of the codes; @ stands for the endpoint.
_CAUSES: Final = {
    "there is no such bucket at @; check its name, and AWS_ENDPOINT_URL": {"nosuchbucket"},
    (
        "the credentials are not accepted; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
        "AWS_SESSION_TOKEN, which expires"
    ): {
        "invalidaccesskeyid",
        "signaturedoesnotmatch",
        "expiredtoken",
        "invalidtoken",
        "invalidclienttokenid",
        "requestexpired",
        "requesttimetooskewed",
    },
    "the bucket is in another region; set AWS_REGION to that of the bucket": {
        "permanentredirect",
        "authorizationheadermalformed",
        "301",
    },
    (
        "access is denied; the credentials in use need s3:ListBucket on the bucket and "
        "s3:GetObject on what is in it"
    ): {"accessdenied", "allaccessdisabled", "403"},
    "there is no such object any more; is something else writing here?": {
        "nosuchkey",
        "resourcenotfound",
        "404",
    },
    "@ is overloaded or fails, also after retries; try again later": {
        "slowdown",
        "serviceunavailable",
        "internalfailure",
        "internalerror",
        *("500", "502", "503", "504"),
    },
    "no answer from @ in time; check AWS_ENDPOINT_URL and the network": {"28", "timedout"},
    "@ cannot be reached; check AWS_ENDPOINT_URL and the network": {
        "networkconnection",
        "unreachable",
    },
    ("@ refuses the request; check AWS_REGION, and AWS_SESSION_TOKEN, which expires"): {"400"},
}


def is_cloud_failure(text: str) -> bool:
    """Returns whether a message of polars is about an object store."""
    return _MARK in text


def cloud_cause(text: str) -> str:
    """Returns why a store could not be read, and what to do.

    Args:
        text: a message of polars or pyarrow.

    Example:
        >>> cloud_cause("object-store error: ... <Code>AuthorizationHeaderMalformed</Code>")
        'the bucket is in another region; set AWS_REGION to that of the bucket'
    """
    # Where polars finds no credentials it asks the machine's own address for some.
    if "169.254.169.254" in text or "169.254.170.2" in text:
        return _NO_CREDENTIALS
    codes = {next(filter(None, found)).replace("_", "").lower() for found in _CODE.findall(text)}
    if "operation timed out" in text:
        codes.add("timedout")
    if "error sending request" in text:
        codes.add("unreachable")
    if "redirect without LOCATION" in text:
        codes.add("301")
    for cause, signs in _CAUSES.items():
        if codes & signs:
            return cause.replace("@", _store())
    return f"{_store()} refuses the request"


def cloud_place(text: str) -> str:
    """Returns the address of the object that a message is about, or "".

    The path at the end of a message of polars is that of the first object it ever read.

    Example:
        >>> cloud_place("object-store error: Error performing GET http://me:pw@host/b/x?n=1 in 1s")
        'host/b/x'
    """
    found = _ADDRESS.search(text)
    return f"{_host(found[1])}{unquote(urlsplit(found[1]).path)}" if found else ""


def _store() -> str:
    """Returns the store of the environment, without what may be secret in its address."""
    address = endpoint_url()
    return _host(address) if address else "AWS S3"


def endpoint_url() -> str | None:
    """Returns the address of the store in the environment; None is that of AWS."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or None


def _host(address: str) -> str:
    """Returns host and port of an address."""
    try:
        split = urlsplit(address)
        port = f":{split.port}" if split.port else ""
    except ValueError:
        return "the endpoint"
    return f"{split.hostname}{port}" if split.hostname else "the endpoint"
