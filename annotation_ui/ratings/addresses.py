"""Web addresses that somebody types: of the rating app, and of a crowd service's last page."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

LONGEST = 2000  # characters; browsers and servers cut longer ones


def web_address(url: str, *schemes: str) -> SplitResult | None:
    """The parts of an address of a web server; None where it is none: no host, a user, spaces, another scheme.

    Args:
        url: As it was typed.
        schemes: Those that are allowed.

    Example:
        >>> web_address("https://rate.example.org/", "https").hostname
        'rate.example.org'
        >>> web_address("javascript:alert(1)", "https") is web_address("https://[", "https") is None
        True
    """
    if len(url) > LONGEST or not url.isprintable() or any(c.isspace() for c in url):
        return None
    try:
        parts = urlsplit(url)
        known = parts.port is None or parts.port > 0
    except ValueError:
        return None
    return parts if known and parts.scheme in schemes and parts.hostname and "@" not in parts.netloc else None
